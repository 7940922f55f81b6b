package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
)

type refundBody struct {
	AmountCents    *int64 `json:"amountCents"`
	Reason         string `json:"reason"`
	IdempotencyKey string `json:"idempotencyKey"`
}

func (a *API) refund(ctx context.Context, c call[refundBody]) (reply, error) {
	r := payment.RefundRequest{MerchantID: c.Merchant.ID, ChargeID: c.Request.PathValue("transactionId"), Reason: c.In.Reason}
	if !id.Valid(id.Charge, r.ChargeID) {
		return reply{}, ledger.ErrNotFound
	}
	var err error
	if cents := c.In.AmountCents; cents != nil {
		if *cents < 1 || *cents > maxAmountCents {
			return reply{}, invalid("amountCents", "must be an integer from 1 to what is left of the payment, in US cents")
		}
		if r.Amount, err = money.Cents(*cents).Micros(); err != nil {
			return reply{}, invalid("amountCents", "is too large")
		}
	}
	if err := text.Check(r.Reason, maxDescription); err != nil {
		return reply{}, invalid("reason", fmt.Sprintf("%s; at most %d characters", err, maxDescription))
	}
	if r.IdempotencyKey, err = idempotencyKey(c.In.IdempotencyKey, c.Request.Header); err != nil {
		return reply{}, err
	}
	refund, err := a.Payments.Refund(ctx, r)
	if err != nil {
		return reply{}, err
	}
	if !refund.Replayed {
		a.Audit.Did(ctx, audit.Merchant(c.Merchant.ID), "refund.create", refund.ChargeID, slog.String("refundId", refund.ID),
			slog.Int64("amountMicros", int64(refund.Amount)))
	}
	return reply{Body: refundView(refund), Replayed: refund.Replayed}, nil
}

func (a *API) refunds(ctx context.Context, c call[struct{}]) (reply, error) {
	chargeID := c.Request.PathValue("transactionId")
	if !id.Valid(id.Charge, chargeID) {
		return reply{}, ledger.ErrNotFound
	}
	size, after, err := pageOf(c, id.Refund, "a refund of the payment")
	if err != nil {
		return reply{}, err
	}
	if !c.Request.URL.Query().Has("limit") {
		size = maxPage // all of a payment
	}
	list, err := a.Payments.Refunds(ctx, c.Merchant.ID, chargeID, after, size+1)
	if errors.Is(err, payment.ErrNoSuchRefund) {
		return reply{}, invalid("starting_after", "must be the id of a refund of the payment")
	}
	if err != nil {
		return reply{}, err
	}
	page := client.RefundPage{HasMore: len(list) > size, Data: []client.Refund{}}
	for _, r := range list[:min(len(list), size)] {
		page.Data = append(page.Data, refundView(r))
	}
	return reply{Body: page}, nil
}

type signatureBody struct {
	Signature string `json:"signature"`
}

// maxSignature limits a signature in hexadecimal digits. Those of contract wallets have no
// fixed size.
const maxSignature = 32 << 10

func (a *API) signRefund(ctx context.Context, c call[signatureBody]) (reply, error) {
	chargeID, refundID := c.Request.PathValue("transactionId"), c.Request.PathValue("refundId")
	if !id.Valid(id.Charge, chargeID) || !id.Valid(id.Refund, refundID) {
		return reply{}, ledger.ErrNotFound
	}
	if c.In.Signature == "" || len(c.In.Signature) > maxSignature {
		return reply{}, invalid("signature", "is required: 0x and the hexadecimal digits of the wallet's signature")
	}
	refund, err := a.Payments.SignRefund(ctx, c.Merchant.ID, chargeID, refundID, c.In.Signature)
	if err != nil {
		return reply{}, err
	}
	a.Audit.Did(ctx, audit.Merchant(c.Merchant.ID), "refund.sign", refund.ChargeID, slog.String("refundId", refund.ID))
	return reply{Body: refundView(refund)}, nil
}

func refundView(r payment.Refunded) client.Refund {
	v := client.Refund{
		ID: r.ID, TransactionID: r.ChargeID, Status: client.RefundStatus(r.Status), AmountCents: int64(r.Amount.CentsUp()),
		Reason: r.Reason, FailureReason: client.FailureReason(r.FailureReason), ProcessorRefundID: r.ProcessorID, TxHash: r.TxHash,
		CreatedAt: r.CreatedAt,
	}
	if p := r.Proposal; p != nil {
		v.Signature = &client.RefundSignature{Signer: p.Signer, TypedData: p.TypedData, ExpiresAt: p.ExpiresAt}
	}
	return v
}
