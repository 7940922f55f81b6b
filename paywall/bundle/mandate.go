package bundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/client"
)

// Charger charges mandates. A [*client.Client] implements it.
type Charger interface {
	// Charge charges a mandate once for an idempotency key.
	Charge(ctx context.Context, p client.ChargeParams) (client.Charge, error)
}

// ByMandate returns a [Config.Sell] that charges the mandate of the order, which the POST
// carries as "mandate". The mandate must name the merchant. A repeated order is charged
// once.
func ByMandate(c Charger) func(context.Context, Order) (Sale, error) {
	return func(ctx context.Context, o Order) (Sale, error) {
		if o.Mandate == "" {
			return Sale{}, &RefusedError{Status: http.StatusPaymentRequired, Code: "payment_required", Message: "Send a mandate that names this merchant."}
		}
		ch, err := c.Charge(ctx, client.ChargeParams{
			Mandate: o.Mandate, AmountCents: o.Tier.USDCents, Currency: client.USD, IdempotencyKey: o.ID,
			Description: fmt.Sprintf("%d requests (%s)", o.Tier.Requests, o.Tier.Name),
		})
		if err != nil {
			return Sale{}, refused(err)
		}
		switch ch.Status {
		case client.Completed, client.Succeeded:
			return Sale{Paid: true}, nil
		case client.Pending:
			return Sale{}, &RefusedError{
				Status: http.StatusConflict, Code: "payment_pending", RetryAfter: 2 * time.Second,
				Message: "The payment is pending. Send the same order again with its Idempotency-Key.",
			}
		default:
			return Sale{}, &RefusedError{Status: http.StatusPaymentRequired, Code: cmp.Or(string(ch.FailureReason), string(ch.Status)), Message: "The payment was refused."}
		}
	}
}

// refused returns a [RefusedError] for errors of the service that the buyer can resolve, and
// other errors as they are.
func refused(err error) error {
	var e *client.Error
	if errors.Is(err, client.ErrUnknownOutcome) || !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case client.CodePerTxLimit, client.CodeDailyLimit, client.CodeMonthlyLimit, client.CodeTotalLimit, client.CodeVelocityLimit,
		client.CodePayeeLimit, client.CodeMerchantLimit, client.CodeRailUnavailable,
		client.CodeMandateInvalid, client.CodeMandateRevoked, client.CodeMandateExpired, client.CodeMandatePaused, client.CodeMerchantNotAllowed:
		return &RefusedError{Status: http.StatusPaymentRequired, Code: string(e.Code), Message: e.Message}
	case client.CodeValidation:
		if e.Param == "intentMandate" {
			return &RefusedError{Status: http.StatusBadRequest, Code: string(e.Code), Message: e.Message}
		}
	default:
	}
	return err
}
