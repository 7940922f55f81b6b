package payment

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// PaymentReversed is the reason why a charge that succeeded proves no payment: its rail
// took the money back.
const PaymentReversed = "reversed"

// PaymentRefunded is the reason why a charge that succeeded proves no payment: its payee has
// given all of it back.
const PaymentRefunded = "refunded"

// Reversed reports whether a charge succeeded and its rail then took the payment back.
func (s *Service) Reversed(ctx context.Context, c ledger.Charge) (bool, error) {
	if c.Status != ledger.ChargeSucceeded {
		return false, nil
	}
	return s.Ledger.Reversed(ctx, c.ID)
}

// ReceiptURL returns the address of a charge's receipt page. It cannot be guessed.
func (s *Service) ReceiptURL(chargeID string) string {
	return s.BaseURL + "/receipts/" + chargeID + "/" + s.receiptProof(chargeID)
}

func (s *Service) receiptProof(chargeID string) string {
	mac := hmac.New(sha256.New, s.ReceiptKey)
	mac.Write([]byte("receipt/" + chargeID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// Receipt is the content of a receipt page.
type Receipt struct {
	Charge     ledger.Charge
	Merchant   ledger.Merchant
	Instrument struct{ Brand, LastFour string } // of a card payment
	// Reversed reports whether the rail took the payment back.
	Reversed bool
}

// Receipt returns the receipt at an address. It returns ledger.ErrNotFound if the proof
// is wrong.
func (s *Service) Receipt(ctx context.Context, chargeID, proof string) (Receipt, error) {
	if !hmac.Equal([]byte(proof), []byte(s.receiptProof(chargeID))) {
		return Receipt{}, ledger.ErrNotFound
	}
	c, err := s.Ledger.Charge(ctx, chargeID)
	if err != nil {
		return Receipt{}, err
	}
	r := Receipt{Charge: c}
	if r.Reversed, err = s.Reversed(ctx, c); err != nil {
		return Receipt{}, err
	}
	if ledger.IsWallet(c.MerchantID) {
		r.Merchant = ledger.WalletPayee(c.PayTo)
	} else if r.Merchant, err = s.Accounts.Merchant(ctx, c.MerchantID); err != nil {
		return Receipt{}, err
	}
	if c.Direct() {
		return r, nil
	}
	instruments, err := s.Instruments(ctx, c.MandateID, c.Card)
	if err != nil {
		return Receipt{}, err
	}
	for _, i := range instruments {
		if i.Rail == c.Rail {
			r.Instrument.Brand, r.Instrument.LastFour = i.Brand, i.LastFour
		}
	}
	return r, nil
}
