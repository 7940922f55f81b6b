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

// MaxReceiptAge is how old a payment may be that a receipt is shown of.
const MaxReceiptAge = 24 * time.Hour

// maxReceiptCharges is how many charges of one transaction are compared with a receipt.
const maxReceiptCharges = 100

// Why a receipt is not good.
const (
	ReceiptNotFound = "not_found" // no such payment to this payee was settled here
	ReceiptExpired  = "expired"
	ReceiptDiffers  = "_mismatch" // after what differs: resource, payTo, amount, payer, network
)

// ReceiptCheck is a receipt that somebody shows, and what it is shown for.
type ReceiptCheck struct {
	Receipt   x402.Settlement
	PayTo     string
	Amount    ledger.Micros
	Resource  *url.URL
	Text      string // of the resource, as the request had it
	Redeem    bool
	RequestID string
}

// CheckedReceipt is what is known of a receipt's payment.
type CheckedReceipt struct {
	// Reason is empty for a good one.
	Reason        string
	Payer         string
	SettledAt     time.Time
	TransactionID string // of a mandate's charge
}

// CheckReceipt holds a receipt against the ledger and the chain: the payment was
// settled, lately, to this payee, of this amount and for this resource. With Redeem
// a good one is spent. Errors are those of the ledger, and of a rail that does not answer.
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
	case s.Clock.Now().Sub(c.SettledAt) > MaxReceiptAge:
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

// redeem spends a payment once for its payee, whatever the receipt says of it: a
// charge under its id, a transfer under its hash.
func (s *Service) redeem(ctx context.Context, r ReceiptCheck, payee ledger.Merchant, c CheckedReceipt) error {
	transaction := strings.ToLower(r.Receipt.Transaction)
	key := ledger.IdempotencyKey{MerchantID: payee.ID, Kind: ledger.ReceiptKey, Key: cmp.Or(c.TransactionID, transaction)}
	former := key // of versions that redeemed under the text of the resource
	former.Key = id.Hash(strings.ToLower(r.Receipt.Transaction+" "+c.Payer) + " " + r.Text)
	return s.Ledger.Redeem(ctx, key, r.RequestID, former)
}

// receiptOfCharge looks for the payment among the charges of its transaction.
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
		if c.Status != ledger.ChargeSucceeded || c.MerchantID != payee.ID {
			continue
		}
		if found, err = s.heldAgainst(ctx, r, c); err != nil || found.Reason == "" {
			return found, err
		}
	}
	return found, nil
}

// heldAgainst compares a receipt with its charge.
func (s *Service) heldAgainst(ctx context.Context, r ReceiptCheck, c ledger.Charge) (CheckedReceipt, error) {
	payer, err := s.Payer(ctx, c)
	if err != nil {
		return CheckedReceipt{}, err
	}
	out := CheckedReceipt{Payer: payer, SettledAt: c.SettledAt, TransactionID: c.ID}
	switch {
	case c.Resource != normalResource(r.Resource):
		out.Reason = "resource" + ReceiptDiffers
	case c.Amount != r.Amount:
		out.Reason = "amount" + ReceiptDiffers
	case r.Receipt.Payer != "" && !strings.EqualFold(r.Receipt.Payer, payer):
		out.Reason = "payer" + ReceiptDiffers
	case (c.Rail == rail.Chain) == (r.Receipt.Network == "card"):
		out.Reason = "network" + ReceiptDiffers
	}
	return out, nil
}

// receiptOfTransfer asks the rails for a transfer that its payer signed.
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

// accessTo describes the charge of a paywall.
func accessTo(resource *url.URL) string { return "Access to " + resource.Host + resource.EscapedPath() }
