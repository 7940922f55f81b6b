package api

import (
	"context"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// createCheckout creates the page of one payment.
func (a *API) createCheckout(ctx context.Context, c call[client.CheckoutParams]) (reply, error) {
	if !c.Merchant.Active {
		return reply{}, &ledger.Refusal{Code: ledger.MerchantInactive, RequestID: c.RequestID}
	}
	amount, err := limit("amountCents", c.In.AmountCents)
	if err != nil {
		return reply{}, err
	}
	if most := c.Merchant.ChargeLimit(); most > 0 && amount > most {
		return reply{}, &ledger.Refusal{Code: ledger.MerchantLimit, Limit: most, RequestID: c.RequestID}
	}
	if err := described(c.In.Description); err != nil {
		return reply{}, err
	}
	if err := a.checkReturnURL(c.In.ReturnURL); err != nil {
		return reply{}, err
	}
	key, err := idempotencyKey(c.In.IdempotencyKey, c.Request.Header)
	if err != nil {
		return reply{}, err
	}
	made, replayed, err := a.Payments.CreateCheckout(ctx, payment.NewCheckout{
		Merchant: c.Merchant, Amount: amount, Description: c.In.Description, ReturnURL: c.In.ReturnURL, IdempotencyKey: key,
	})
	if err != nil {
		return reply{}, err
	}
	return reply{Body: a.checkoutView(made), Replayed: replayed}, nil
}

func (a *API) checkout(ctx context.Context, c call[struct{}]) (reply, error) {
	found, err := a.Payments.Checkout(ctx, c.Request.PathValue("checkoutId"))
	if err != nil {
		return reply{}, err
	}
	if found.MerchantID != c.Merchant.ID {
		return reply{}, ledger.ErrNotFound
	}
	return reply{Body: a.checkoutView(found)}, nil
}

func (a *API) checkoutView(c payment.Checkout) client.Checkout {
	return client.Checkout{
		ID: c.ID, URL: a.Payments.CheckoutURL(c.ID), Status: client.CheckoutStatus(c.Status), AmountCents: int64(c.Amount.CentsUp()),
		Description: c.Description, TransactionID: c.Charge.ID, FailureReason: c.FailureReason, CreatedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt,
	}
}
