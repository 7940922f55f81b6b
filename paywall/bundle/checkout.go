package bundle

import (
	"context"
	"fmt"
	"net/http"

	"github.com/paywarrant/paywarrant/client"
)

// Cashier makes checkouts, and charges mandates. A [*client.Client] is one.
type Cashier interface {
	Charger
	CreateCheckout(ctx context.Context, p client.CheckoutParams) (client.Checkout, error)
}

// ByCheckout sells on a page of the service, where a person pays by card or from a
// mandate; an order that carries a mandate is charged as [ByMandate] does. An order
// is one checkout, however often it is sent, and is paid once.
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
			return Sale{}, &RefusedError{Status: http.StatusPaymentRequired, Code: "checkout_" + string(k.Status), Message: "It was not paid. Order again, with another Idempotency-Key."}
		default:
			return Sale{CheckoutURL: k.URL}, nil
		}
	}
}
