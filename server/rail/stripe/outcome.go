package stripe

import (
	"fmt"
	"time"

	api "github.com/stripe/stripe-go/v84"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
)

// reasons maps the codes of declines. Those that are missing are [rail.CardDeclined].
var reasons = map[string]rail.Reason{
	"insufficient_funds":   rail.InsufficientFunds,
	"expired_card":         rail.ExpiredCard,
	"processing_error":     rail.ProcessorError,
	"issuer_not_available": rail.ProcessorError,
	"reenter_transaction":  rail.ProcessorError,
	"try_again_later":      rail.ProcessorError,
}

// reason returns the reason for a decline.
func reason(e *api.Error) rail.Reason {
	if e == nil {
		return rail.CardDeclined
	}
	for _, code := range []string{string(e.DeclineCode), string(e.Code)} {
		if known, ok := reasons[code]; ok {
			return known
		}
	}
	return rail.CardDeclined
}

// refused is the outcome of what Stripe cannot do, or has not.
func refused() rail.Outcome { return rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable} }

// outcomeOf returns the outcome of an intent in its current state. An intent that waits for
// its confirmation has none yet: it is [rail.Unseen].
func outcomeOf(one *api.PaymentIntent) (rail.Outcome, error) {
	out := rail.Outcome{ProcessorID: one.ID}
	if why := one.Metadata[metaRefused]; why != "" {
		out.Status, out.Reason = rail.Refused, rail.Reason(why)
		return out, nil
	}
	switch one.Status {
	case api.PaymentIntentStatusSucceeded:
		out.Status, out.SettledAt = rail.Succeeded, settledAt(one)
	case api.PaymentIntentStatusRequiresCapture:
		out.Status = rail.Held
	case api.PaymentIntentStatusProcessing, api.PaymentIntentStatusRequiresAction:
		out.Status = rail.Pending
	case api.PaymentIntentStatusRequiresConfirmation:
		return rail.Outcome{Status: rail.Unseen}, nil
	case api.PaymentIntentStatusRequiresPaymentMethod:
		out.Status, out.Reason = rail.Refused, reason(one.LastPaymentError)
	case api.PaymentIntentStatusCanceled:
		out.Status, out.Reason = rail.Refused, rail.Unavailable
		if one.LastPaymentError != nil {
			out.Reason = reason(one.LastPaymentError)
		} else if one.CancellationReason == api.PaymentIntentCancellationReasonAbandoned {
			out.Reason = rail.CardDeclined // the absent person could not authenticate
		}
	default:
		return rail.Outcome{}, fmt.Errorf("the processor answered with state %q of payment %s", one.Status, one.ID)
	}
	return out, nil
}

// settledAt returns when the money of an intent moved: at the capture.
func settledAt(one *api.PaymentIntent) time.Time {
	at := one.Created
	if c := one.LatestCharge; c != nil && c.Created > 0 {
		at = c.Created
		if c.BalanceTransaction != nil && c.BalanceTransaction.Created > 0 {
			at = c.BalanceTransaction.Created
		}
	}
	return time.Unix(at, 0).UTC()
}

// outcomeOfRefund returns the outcome of a refund.
func outcomeOfRefund(one *api.Refund) (rail.Outcome, error) {
	out := rail.Outcome{ProcessorID: one.ID}
	switch one.Status {
	case api.RefundStatusSucceeded:
		out.Status, out.SettledAt = rail.Succeeded, time.Unix(one.Created, 0).UTC()
	case api.RefundStatusPending, api.RefundStatusRequiresAction:
		out.Status = rail.Pending
	case api.RefundStatusFailed, api.RefundStatusCanceled:
		out.Status, out.Reason = rail.Refused, rail.CardDeclined
		if one.FailureReason == api.RefundFailureReasonExpiredOrCanceledCard {
			out.Reason = rail.ExpiredCard
		}
	default:
		return rail.Outcome{}, fmt.Errorf("the processor answered with state %q of refund %s", one.Status, one.ID)
	}
	return out, nil
}

// micros converts an amount of Stripe.
func micros(cents int64) (rail.Micros, error) { return money.Cents(cents).Micros() }
