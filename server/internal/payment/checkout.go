package payment

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// A checkout is one payment that a person makes on a page. It is a row of the ledger
// with a setup session for exactly its amount. If the person pays by card, the session
// becomes a mandate for this one payment, which is charged at once and then revoked. If
// the person has a mandate, that mandate is charged. Either way, the ledger assigns the
// one charge of a checkout in the charge's own transaction.

// CheckoutStatus is the state of a checkout.
type CheckoutStatus string

// The states. Open and pending ones change, and a paid one fails if its rail takes the
// payment back.
const (
	CheckoutOpen    CheckoutStatus = "open"
	CheckoutPending CheckoutStatus = "pending" // the rail has no outcome yet
	CheckoutPaid    CheckoutStatus = "paid"
	CheckoutFailed  CheckoutStatus = "failed"
	CheckoutExpired CheckoutStatus = "expired"
)

// checkoutMandateLife is the longest validity of a checkout's mandate.
const checkoutMandateLife = SessionLifetime + time.Hour

// NewCheckout describes a checkout that a merchant creates. The caller has validated it.
type NewCheckout struct {
	Merchant    ledger.Merchant
	Amount      ledger.Micros
	Description string
	ReturnURL   string
	// IdempotencyKey identifies the request: repeating it returns the same checkout.
	IdempotencyKey string
}

// Checkout is the current state of a checkout.
type Checkout struct {
	ID          string
	MerchantID  string
	Status      CheckoutStatus
	Amount      ledger.Micros
	Description string
	ReturnURL   string
	CreatedAt   time.Time
	ExpiresAt   time.Time
	// Charge is the checkout's charge, if there is one.
	Charge ledger.Charge
	// FailureReason is the reason of a failed checkout.
	FailureReason string

	entropy string
	session Session
}

// CheckoutURL returns the address of the page that takes the payment. It cannot be guessed.
func (s *Service) CheckoutURL(checkoutID string) string {
	return s.BaseURL + "/checkout/" + checkoutID + "/" + s.checkoutProof(checkoutID)
}

func (s *Service) checkoutProof(checkoutID string) string {
	return base64.RawURLEncoding.EncodeToString(s.checkoutMAC("page", checkoutID)[:16])
}

// checkoutMAC derives a checkout's identifiers and proofs from a key, so that they need
// not be stored.
func (s *Service) checkoutMAC(purpose, subject string) []byte {
	mac := hmac.New(sha256.New, s.ReceiptKey)
	mac.Write([]byte("checkout " + purpose + " " + subject))
	return mac.Sum(nil)
}

// entropyBytes is the part of an id that is derived from the merchant and its idempotency key.
const entropyBytes = 10

// checkoutSession returns the token of a checkout's session, derived from the entropy of
// its id. The token never leaves the service.
func (s *Service) checkoutSession(entropy []byte) string {
	return id.Session + base64.RawURLEncoding.EncodeToString(s.checkoutMAC("session", string(entropy)))
}

func newCheckoutID(at time.Time, entropy []byte) string {
	var u ulid.ULID
	_ = u.SetTime(ulid.Timestamp(at)) // fails after the year 10889
	_ = u.SetEntropy(entropy)         // fails for another length
	return id.Checkout + u.String()
}

// entropyText returns the entropy part of a checkout's id.
func entropyText(checkoutID string) string { return checkoutID[len(checkoutID)-16:] }

// CreateCheckout creates a checkout, or returns the one that an earlier request with the
// same key created. It returns ledger.ErrIdempotencyMismatch if that request differs.
func (s *Service) CreateCheckout(ctx context.Context, n NewCheckout) (c Checkout, replayed bool, err error) {
	now := s.Clock()
	entropy := s.checkoutMAC("id", n.Merchant.ID+" "+n.IdempotencyKey)[:entropyBytes]
	fresh := ledger.Checkout{
		ID: newCheckoutID(now, entropy), MerchantID: n.Merchant.ID, Amount: n.Amount, Description: n.Description, ReturnURL: n.ReturnURL,
		SessionHash: id.Hash(s.checkoutSession(entropy)), CreatedAt: now, ExpiresAt: now.Add(SessionLifetime),
	}
	fresh.Entropy = entropyText(fresh.ID)
	made, replayed, err := s.Ledger.CreateCheckout(ctx, fresh, s.newCheckoutSession(fresh))
	if err != nil {
		return Checkout{}, false, err
	}
	if made.MerchantID != n.Merchant.ID || made.Amount != n.Amount || made.ReturnURL != n.ReturnURL || made.Description != n.Description {
		return Checkout{}, false, ledger.ErrIdempotencyMismatch
	}
	c, err = s.checkoutOf(ctx, made)
	return c, replayed, err
}

func (s *Service) newCheckoutSession(c ledger.Checkout) ledger.Session {
	return ledger.Session{
		Hash: c.SessionHash, MerchantID: c.MerchantID, Status: ledger.SessionPending, ReturnURL: c.ReturnURL,
		Terms: ledger.Terms{
			MaxPerTx: c.Amount, MaxMonthly: c.Amount, Rails: []rail.Name{rail.Card}, Payees: []string{c.MerchantID},
			ExpiresAt: c.CreatedAt.Add(checkoutMandateLife).Truncate(time.Second),
		},
		CreatedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt,
	}
}

// Checkout returns the current state of a checkout; it first finishes a payment that was
// interrupted. It returns ledger.ErrNotFound if there is no such checkout.
func (s *Service) Checkout(ctx context.Context, checkoutID string) (Checkout, error) {
	text, _ := strings.CutPrefix(checkoutID, id.Checkout)
	u, err := ulid.ParseStrict(text)
	if err != nil || !id.Valid(id.Checkout, checkoutID) {
		return Checkout{}, ledger.ErrNotFound
	}
	row, err := s.Ledger.Checkout(ctx, entropyText(checkoutID))
	if err != nil {
		return Checkout{}, err
	}
	if row.ID != checkoutID || row.SessionHash != id.Hash(s.checkoutSession(u.Entropy())) {
		return Checkout{}, ledger.ErrNotFound
	}
	return s.checkoutOf(ctx, row)
}

// CheckoutAt returns the checkout of a page's address. It returns ledger.ErrNotFound if
// the proof is wrong.
func (s *Service) CheckoutAt(ctx context.Context, checkoutID, proof string) (Checkout, error) {
	if !hmac.Equal([]byte(proof), []byte(s.checkoutProof(checkoutID))) {
		return Checkout{}, ledger.ErrNotFound
	}
	return s.Checkout(ctx, checkoutID)
}

// Session returns the setup session in which a person connects a card for the checkout.
func (c Checkout) Session() Session { return c.session }

// checkoutOf returns the state of a checkout: that of its charge, or of its session as
// long as there is no charge.
func (s *Service) checkoutOf(ctx context.Context, row ledger.Checkout) (Checkout, error) {
	c := Checkout{
		ID: row.ID, MerchantID: row.MerchantID, Status: CheckoutOpen, Amount: row.Amount, Description: row.Description,
		ReturnURL: row.ReturnURL, CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, entropy: row.Entropy,
	}
	session, err := s.checkoutsSession(ctx, row)
	if err != nil {
		return Checkout{}, err
	}
	c.session = session
	switch {
	case row.ChargeID != "":
		charge, err := s.Ledger.Charge(ctx, row.ChargeID)
		if err != nil {
			return Checkout{}, err
		}
		reversed, err := s.Reversed(ctx, charge)
		if err != nil {
			return Checkout{}, err
		}
		c.take(charge, reversed)
		s.endCheckoutMandate(ctx, c)
		return c, nil
	case row.FailureReason != "":
		c.Status, c.FailureReason = CheckoutFailed, row.FailureReason
		s.endCheckoutMandate(ctx, c)
		return c, nil
	}
	switch session.Status {
	case ledger.SessionCompleted: // an interrupted payment
		return s.chargeCheckout(ctx, c, ChargeRequest{mandateID: session.MandateID})
	case ledger.SessionFailed:
		c.Status, c.FailureReason = CheckoutFailed, session.FailureReason
		if session.FailureReason == ledger.SessionExpired {
			c.Status, c.FailureReason = CheckoutExpired, ""
		}
	case ledger.SessionPending:
	}
	return c, nil
}

// checkoutsSession returns the session of a checkout with its token. A session that was
// deleted counts as expired.
func (s *Service) checkoutsSession(ctx context.Context, row ledger.Checkout) (Session, error) {
	u, err := ulid.ParseStrict(strings.TrimPrefix(row.ID, id.Checkout))
	if err != nil {
		return Session{}, ledger.ErrNotFound
	}
	session, err := s.Session(ctx, s.checkoutSession(u.Entropy()))
	if errors.Is(err, ledger.ErrNotFound) {
		return Session{Session: ledger.Session{Status: ledger.SessionFailed, FailureReason: ledger.SessionExpired}}, nil
	}
	return session, err
}

// take sets the state of a checkout to that of its charge.
func (c *Checkout) take(charge ledger.Charge, reversed bool) {
	c.Charge = charge
	switch charge.Status {
	case ledger.ChargeSucceeded:
		c.Status = CheckoutPaid
		switch {
		case reversed:
			c.Status, c.FailureReason = CheckoutFailed, PaymentReversed
		case charge.GivenBack():
			c.Status, c.FailureReason = CheckoutFailed, PaymentRefunded
		}
	case ledger.ChargePending:
		c.Status = CheckoutPending
	case ledger.ChargeAuthorized, ledger.ChargeVoided, ledger.ChargeWrittenOff: // a checkout is charged in one step
	case ledger.ChargeFailed:
		c.Status, c.FailureReason = CheckoutFailed, string(charge.FailureReason)
	}
}
