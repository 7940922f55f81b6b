package bundle

import (
	"context"
	"fmt"
	"net/http"

	"github.com/paywarrant/paywarrant/client"
)

// Cashier creates checkouts and charges mandates. A [*client.Client] implements it.
type Cashier interface {
	Charger
	// CreateCheckout creates a checkout, or returns the one that was created before with
	// the same idempotency key.
	CreateCheckout(ctx context.Context, p client.CheckoutParams) (client.Checkout, error)
}

// ByCheckout returns a [Config.Sell] that sells on a page of the service, on which a
// person pays by card or from a mandate. An order with a mandate is charged as by
// [ByMandate]. A repeated order has the same checkout and is paid once.
func ByCheckout(c Cashier) func(context.Context, Order) (Sale, error) {
	byMandate := ByMandate(c)
	return func(ctx context.Context, o Order) (Sale, error) {
		if o.Mandate != "" {
			return byMandate(ctx, o)
		}
		k, err := c.CreateCheckout(ctx, client.CheckoutParams{
			AmountCents: o.Tier.USDCents, Description: fmt.Sprintf("%d requests (%s)", o.Tier.Requests, o.Tier.Name),
			ReturnURL: o.ReturnURL, IdempotencyKey: o.ID,
		})
		if err != nil {
			return Sale{}, refused(err)
		}
		switch k.Status {
		case client.CheckoutPaid:
			return Sale{Paid: true}, nil
		case client.CheckoutFailed, client.CheckoutExpired:
			return Sale{}, &RefusedError{Status: http.StatusPaymentRequired, Code: "checkout_" + string(k.Status), Message: "The checkout was not paid. Order again with another Idempotency-Key."}
		default:
			return Sale{CheckoutURL: k.URL}, nil
		}
	}
}
