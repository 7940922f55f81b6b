package api

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/audit"
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
	if c.In.Tab {
		return reply{}, invalid("tab", "is for charges: an authorization holds its own amount")
	}
	if err := ownCharge(c.In.chargeBody, c.Merchant); err != nil {
		return reply{}, err
	}
	hold := defaultHold
	if s := c.In.ExpiresInSeconds; s != nil {
		if hold, err = holdFor(*s); err != nil {
			return reply{}, err
		}
	}
	request.Payee, request.RequestID = c.Merchant, c.RequestID
	done, err := a.Payments.Authorize(ctx, request, hold)
	return charged(done, err)
}

type captureBody struct {
	AmountCents    *int64     `json:"amountCents"`
	AmountMicros   *int64     `json:"amountMicros"`
	Usage          *usageBody `json:"usage"`
	IdempotencyKey string     `json:"idempotencyKey"`
}

// amount returns the amount to capture, which is in cents or in micro-dollars.
func (b captureBody) amount() (ledger.Micros, error) {
	cents, micros := b.AmountCents, b.AmountMicros
	if micros != nil && *micros != 0 {
		switch {
		case cents != nil && *cents != 0:
			return 0, invalid("amountMicros", "excludes amountCents")
		case *micros < 0 || *micros > maxAmountCents*int64(money.MicrosPerCent):
			return 0, invalid("amountMicros", "must be an integer from 0 to the authorized amount, in millionths of a US dollar")
		}
		return ledger.Micros(*micros), nil
	}
	if cents == nil && micros == nil || cents != nil && (*cents < 0 || *cents > maxAmountCents) {
		return 0, invalid("amountCents", "is required: an integer from 0 to the authorized amount, in US cents")
	}
	if cents == nil {
		return 0, nil
	}
	amount, err := money.Cents(*cents).Micros()
	if err != nil {
		return 0, invalid("amountCents", "is too large")
	}
	return amount, nil
}

type usageBody struct {
	Unit            string `json:"unit"`
	Quantity        int64  `json:"quantity"`
	UnitPriceMicros int64  `json:"unitPriceMicros"`
}

// holdFor returns the time for which an amount is held.
func holdFor(seconds int64) (time.Duration, error) {
	if seconds < 1 || seconds > int64(ledger.MaxHold/time.Second) {
		return 0, invalid("expiresInSeconds", fmt.Sprintf("must be an integer from 1 to %d", int64(ledger.MaxHold/time.Second)))
	}
	return time.Duration(seconds) * time.Second, nil
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
	if r.Amount, err = c.In.amount(); err != nil {
		return reply{}, err
	}
	if r.Usage, err = c.In.Usage.check(); err != nil {
		return reply{}, err
	}
	if r.IdempotencyKey, err = idempotencyKey(c.In.IdempotencyKey, c.Request.Header); err != nil {
		return reply{}, err
	}
	done, err := a.Payments.Capture(ctx, r)
	if err == nil && !done.Replayed {
		a.Audit.DidSoon(ctx, audit.Merchant(c.Merchant.ID), "charge.capture", r.ChargeID, slog.Int64("amountMicros", int64(r.Amount)))
	}
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
	if err == nil {
		a.Audit.DidSoon(ctx, audit.Merchant(c.Merchant.ID), "charge.void", chargeID)
	}
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
