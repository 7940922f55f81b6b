package payment

import (
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

// maxReceiptCharges is how many of a payee's newest charges are looked through.
const maxReceiptCharges = 2000

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
		key := "receipt:" + id.Hash(strings.ToLower(r.Receipt.Transaction+" "+c.Payer)+" "+r.Text)
		err = s.Ledger.Redeem(ctx, ledger.IdempotencyKey{MerchantID: payee.ID, Key: key}, r.RequestID)
		var spent *ledger.Refusal
		if errors.As(err, &spent) {
			c.Reason, err = string(spent.Code), nil
		}
	}
	return c, err
}

// receiptOfCharge looks for the payment among the payee's newest charges.
func (s *Service) receiptOfCharge(ctx context.Context, r ReceiptCheck, payee ledger.Merchant) (CheckedReceipt, error) {
	const page = 100
	before := ""
	for range maxReceiptCharges / page {
		list, err := s.Ledger.Charges(ctx, payee.ID, before, page)
		if err != nil {
			return CheckedReceipt{}, fmt.Errorf("list charges: %w", err)
		}
		for _, c := range list {
			if c.Status == ledger.ChargeSucceeded && (strings.EqualFold(c.TxHash, r.Receipt.Transaction) || c.ProcessorID == r.Receipt.Transaction) {
				return s.heldAgainst(ctx, r, c)
			}
		}
		if len(list) < page || s.Clock.Now().Sub(list[page-1].CreatedAt) > 2*MaxReceiptAge {
			break
		}
		before = list[page-1].ID
	}
	return CheckedReceipt{Reason: ReceiptNotFound}, nil
}

// heldAgainst compares a receipt with its charge.
func (s *Service) heldAgainst(ctx context.Context, r ReceiptCheck, c ledger.Charge) (CheckedReceipt, error) {
	payer, err := s.Payer(ctx, c)
	if err != nil {
		return CheckedReceipt{}, err
	}
	out := CheckedReceipt{Payer: payer, SettledAt: c.SettledAt, TransactionID: c.ID}
	switch {
	case c.Description != accessTo(r.Resource):
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
func accessTo(resource *url.URL) string { return "Access to " + resource.Host + resource.Path }
