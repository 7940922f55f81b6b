package payment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/x402"
)

// MaxReceiptAge is the maximum age of a payment whose receipt is accepted.
const MaxReceiptAge = 24 * time.Hour

// maxReceiptCharges limits the charges of one transaction that are compared with a receipt.
const maxReceiptCharges = 100

// The reasons for which a receipt is refused.
const (
	ReceiptNotFound = "not_found" // no such payment to this payee was settled here
	ReceiptExpired  = "expired"
	ReceiptReversed = PaymentReversed
	ReceiptRefunded = PaymentRefunded
	ReceiptDiffers  = "_mismatch" // appended to the name of the value: resource, payTo, amount, payer, network
)

// ReceiptCheck is a receipt and the payment that it shall prove.
type ReceiptCheck struct {
	Receipt   x402.Settlement
	PayTo     string
	Amount    ledger.Micros
	Resource  *url.URL
	Text      string // the spelling of Resource in the request
	Redeem    bool
	RequestID string
}

// CheckedReceipt is the result of a check.
type CheckedReceipt struct {
	// Reason is empty if the receipt is accepted.
	Reason        string
	Payer         string
	SettledAt     time.Time
	TransactionID string // empty for a signed transfer that the ledger does not have

	direct bool // a wallet signed the payment
}

// CheckReceipt compares a receipt with the ledger and the chain. It is accepted if the
// payment was settled in the last 24 hours with this payee, amount and resource, its rail
// has not taken it back, and its payee has not given it back. If Redeem is set, an accepted
// receipt is redeemed: no later check accepts it. The errors are those of the ledger and of
// the rail.
func (s *Service) CheckReceipt(ctx context.Context, r ReceiptCheck) (CheckedReceipt, error) {
	payee, err := s.Accounts.MerchantByWallet(ctx, r.PayTo)
	if errors.Is(err, ledger.ErrNotFound) {
		payee, err = ledger.WalletPayee(r.PayTo), nil
	}
	if err != nil {
		return CheckedReceipt{}, fmt.Errorf("find payee: %w", err)
	}
	if !r.Receipt.Success || r.Receipt.Transaction == "" {
		return CheckedReceipt{Reason: ReceiptNotFound}, nil
	}
	c, err := s.receiptOfCharge(ctx, r, payee)
	if err == nil && c.Reason == ReceiptNotFound {
		c, err = s.receiptOfTransfer(ctx, r)
	}
	switch {
	case err != nil || c.Reason != "":
		return c, err
	case s.Clock().Sub(c.SettledAt) > MaxReceiptAge:
		c.Reason = ReceiptExpired
	case r.Redeem:
		err = s.redeem(ctx, r, payee, c)
		var spent *ledger.Refusal
		if errors.As(err, &spent) {
			c.Reason, err = string(spent.Code), nil
		}
	}
	return c, err
}

// redeem records that the payee has accepted a payment, once: a mandate's charge by its id, a
// signed transfer by its transaction hash, which is known before the ledger's record ends.
func (s *Service) redeem(ctx context.Context, r ReceiptCheck, payee ledger.Merchant, c CheckedReceipt) error {
	transaction := strings.ToLower(r.Receipt.Transaction)
	key := ledger.IdempotencyKey{MerchantID: payee.ID, Kind: ledger.ReceiptKey, Key: cmp.Or(c.TransactionID, transaction)}
	if c.direct {
		key.Key = transaction
	}
	previous := key // of versions that redeemed by the text of the resource
	previous.Key = id.Hash(strings.ToLower(r.Receipt.Transaction+" "+c.Payer) + " " + r.Text)
	return s.Ledger.Redeem(ctx, key, r.RequestID, previous)
}

// receiptOfCharge searches the charges of the transaction for the payment.
func (s *Service) receiptOfCharge(ctx context.Context, r ReceiptCheck, payee ledger.Merchant) (CheckedReceipt, error) {
	list, err := s.Ledger.ChargesOfTransaction(ctx, r.Receipt.Transaction, maxReceiptCharges)
	if err != nil {
		return CheckedReceipt{}, fmt.Errorf("find charges of a transaction: %w", err)
	}
	if id.Valid(id.Charge, r.Receipt.Transaction) {
		c, err := s.Ledger.Charge(ctx, r.Receipt.Transaction)
		if err != nil && !errors.Is(err, ledger.ErrNotFound) {
			return CheckedReceipt{}, fmt.Errorf("read charge of a receipt: %w", err)
		}
		list = append(list, c)
	}
	found := CheckedReceipt{Reason: ReceiptNotFound}
	for _, c := range list {
		if !c.Serves() || c.MerchantID != payee.ID {
			continue
		}
		if found, err = s.compareReceipt(ctx, r, c); err != nil || found.Reason == "" {
			return found, err
		}
	}
	return found, nil
}

// compareReceipt compares a receipt with its charge.
func (s *Service) compareReceipt(ctx context.Context, r ReceiptCheck, c ledger.Charge) (CheckedReceipt, error) {
	payer, err := s.Payer(ctx, c)
	if err != nil {
		return CheckedReceipt{}, err
	}
	out := CheckedReceipt{Payer: payer, SettledAt: c.SettledAt, TransactionID: c.ID, direct: c.Direct()}
	if c.TabID != "" {
		out.SettledAt = c.CreatedAt // the payee was paid later
	}
	switch {
	case c.Resource != normalResource(r.Resource):
		out.Reason = "resource" + ReceiptDiffers
	case c.Amount != r.Amount:
		out.Reason = "amount" + ReceiptDiffers
	case r.Receipt.Payer != "" && !strings.EqualFold(r.Receipt.Payer, payer):
		out.Reason = "payer" + ReceiptDiffers
	case (c.Rail == rail.Chain) == (r.Receipt.Network == "card"):
		out.Reason = "network" + ReceiptDiffers
	case c.GivenBack():
		out.Reason = ReceiptRefunded
	default:
		reversed, err := s.Reversed(ctx, c)
		if err != nil {
			return CheckedReceipt{}, err
		}
		if reversed {
			out.Reason = ReceiptReversed
		}
	}
	return out, nil
}

// receiptOfTransfer asks the chain rail for a signed transfer.
func (s *Service) receiptOfTransfer(ctx context.Context, r ReceiptCheck) (CheckedReceipt, error) {
	one, _ := s.Rails.Rail(rail.Chain)
	reader, ok := one.(rail.TransferReader)
	if !ok {
		return CheckedReceipt{Reason: ReceiptNotFound}, nil
	}
	t, found, err := reader.SettledTransfer(ctx, rail.TransferQuery{TxHash: r.Receipt.Transaction, PayTo: r.PayTo, Amount: r.Amount, Resource: r.Text})
	if err != nil || !found {
		return CheckedReceipt{Reason: ReceiptNotFound}, err
	}
	out := CheckedReceipt{Payer: t.Payer, SettledAt: t.SettledAt}
	network, errNetwork := x402.ParseNetwork(r.Receipt.Network)
	n, networked := one.(rail.Networked)
	switch {
	case t.Differs != "":
		out.Reason = t.Differs + ReceiptDiffers
	case r.Receipt.Payer != "" && !strings.EqualFold(r.Receipt.Payer, t.Payer):
		out.Reason = "payer" + ReceiptDiffers
	case errNetwork != nil, networked && n.Network() != network.CAIP2:
		out.Reason = "network" + ReceiptDiffers
	}
	return out, nil
}

// accessTo returns the description of a paywall's charge.
func accessTo(resource *url.URL) string { return "Access to " + resource.Host + resource.EscapedPath() }
