package api

import (
	"context"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// defaultHold is the time for which an authorization without expiresInSeconds holds.
const defaultHold = time.Hour

type authorizeBody struct {
	chargeBody

	ExpiresInSeconds *int64 `json:"expiresInSeconds"`
}

func (a *API) authorize(ctx context.Context, c call[authorizeBody]) (reply, error) {
	request, err := chargeRequest(c.In.chargeBody, c.Request.Header)
	if err != nil {
		return reply{}, err
	}
	hold := defaultHold
	if s := c.In.ExpiresInSeconds; s != nil {
		if *s < 1 || *s > int64(ledger.MaxHold/time.Second) {
			return reply{}, invalid("expiresInSeconds", fmt.Sprintf("must be an integer from 1 to %d", int64(ledger.MaxHold/time.Second)))
		}
		hold = time.Duration(*s) * time.Second
	}
	request.Payee, request.RequestID = c.Merchant, c.RequestID
	done, err := a.Payments.Authorize(ctx, request, hold)
	return charged(done, err)
}

type captureBody struct {
	AmountCents    *int64     `json:"amountCents"`
	Usage          *usageBody `json:"usage"`
	IdempotencyKey string     `json:"idempotencyKey"`
}

type usageBody struct {
	Unit            string `json:"unit"`
	Quantity        int64  `json:"quantity"`
	UnitPriceMicros int64  `json:"unitPriceMicros"`
}

// maxUnit limits the characters of a unit.
const maxUnit = 40

func (u *usageBody) check() (*ledger.Usage, error) {
	if u == nil {
		return nil, nil //nolint:nilnil // usage is optional
	}
	if err := text.Check(u.Unit, maxUnit); err != nil || u.Unit == "" {
		return nil, invalid("usage.unit", fmt.Sprintf("is required: 1 to %d characters", maxUnit))
	}
	if u.Quantity < 0 || u.Quantity > maxAmountCents {
		return nil, invalid("usage.quantity", fmt.Sprintf("must be an integer from 0 to %d", int64(maxAmountCents)))
	}
	if u.UnitPriceMicros < 0 || u.UnitPriceMicros > maxAmountCents {
		return nil, invalid("usage.unitPriceMicros", fmt.Sprintf("must be an integer from 0 to %d, in millionths of a US dollar", int64(maxAmountCents)))
	}
	return &ledger.Usage{Unit: u.Unit, Quantity: u.Quantity, UnitPrice: ledger.Micros(u.UnitPriceMicros)}, nil
}

func (a *API) capture(ctx context.Context, c call[captureBody]) (reply, error) {
	r := payment.CaptureRequest{MerchantID: c.Merchant.ID, ChargeID: c.Request.PathValue("transactionId"), RequestID: c.RequestID}
	if !id.Valid(id.Charge, r.ChargeID) {
		return reply{}, ledger.ErrNotFound
	}
	var err error
	if c.In.AmountCents == nil || *c.In.AmountCents < 0 || *c.In.AmountCents > maxAmountCents {
		return reply{}, invalid("amountCents", "is required: an integer from 0 to the authorized amount, in US cents")
	}
	if r.Amount, err = money.Cents(*c.In.AmountCents).Micros(); err != nil {
		return reply{}, invalid("amountCents", "is too large")
	}
	if r.Usage, err = c.In.Usage.check(); err != nil {
		return reply{}, err
	}
	if r.IdempotencyKey, err = idempotencyKey(c.In.IdempotencyKey, c.Request.Header); err != nil {
		return reply{}, err
	}
	done, err := a.Payments.Capture(ctx, r)
	if err == nil && r.Amount > 0 && done.Status == ledger.ChargeVoided {
		err = refuse(client.ErrAuthorizationEnded, "The authorization has expired, and its amount was given back.")
	}
	return charged(done, err)
}

func (a *API) void(ctx context.Context, c call[struct{}]) (reply, error) {
	chargeID := c.Request.PathValue("transactionId")
	if !id.Valid(id.Charge, chargeID) {
		return reply{}, ledger.ErrNotFound
	}
	voided, err := a.Payments.Void(ctx, c.Merchant.ID, chargeID)
	return charged(payment.Charged{Charge: voided}, err)
}

// charged returns the reply for a charge.
func charged(done payment.Charged, err error) (reply, error) {
	if err != nil {
		return reply{}, err
	}
	v := chargeView(done.Charge)
	if done.Reversed {
		v.Status = client.Reversed
	}
	return reply{Body: v, Replayed: done.Replayed}, nil
}
