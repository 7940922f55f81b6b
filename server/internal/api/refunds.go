package api

import (
	"context"
	"fmt"

	"github.com/paywarrant/paywarrant/client"
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
	refund, replayed, err := a.Payments.Refund(ctx, r)
	if err != nil {
		return reply{}, err
	}
	return reply{Body: refundView(refund), Replayed: replayed}, nil
}

func (a *API) refunds(ctx context.Context, c call[struct{}]) (reply, error) {
	chargeID := c.Request.PathValue("transactionId")
	if !id.Valid(id.Charge, chargeID) {
		return reply{}, ledger.ErrNotFound
	}
	all, err := a.Payments.Refunds(ctx, c.Merchant.ID, chargeID)
	if err != nil {
		return reply{}, err
	}
	list := client.RefundList{Data: []client.Refund{}}
	for _, r := range all {
		list.Data = append(list.Data, refundView(r))
	}
	return reply{Body: list}, nil
}

func refundView(r ledger.Refund) client.Refund {
	return client.Refund{
		ID: r.ID, TransactionID: r.ChargeID, Status: client.RefundStatus(r.Status), AmountCents: int64(r.Amount.CentsUp()),
		Reason: r.Reason, FailureReason: client.FailureReason(r.FailureReason), ProcessorRefundID: r.ProcessorID, CreatedAt: r.CreatedAt,
	}
}
