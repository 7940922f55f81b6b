package card

import (
	"context"
	"fmt"

	"github.com/paywarrant/paywarrant/server/rail"
)

// Refund moves a whole number of cents of a captured payment back, at most once per
// reference. A repeated call finishes a refund that was interrupted. An amount that is not
// a positive number of whole cents is refused as [rail.Unavailable]; the processor never
// sees it, so LookupRefund returns [rail.Unseen]. It returns [rail.ErrReferenceReused] if
// charge or amount differ from the first call's. After any other error the outcome is
// unknown.
func (r *Rail) Refund(ctx context.Context, refund rail.Refund) (rail.Outcome, error) {
	cents, whole := refund.Amount.WholeCents()
	if !whole || cents <= 0 {
		return refused(rail.Unavailable), nil
	}
	return r.outcome(ctx, "refund", refund.Reference, func(ctx context.Context, gateway Gateway) (rail.Outcome, error) {
		return refundBy(ctx, gateway, RefundParams{
			Reference: refund.Reference, Payment: refund.Charge, AmountCents: cents, Description: statement(refund.Description),
		})
	})
}

// LookupRefund returns the outcome of a refund's reference, or [rail.Unseen]. It finishes a
// refund that was interrupted. After an error the outcome is unknown.
func (r *Rail) LookupRefund(ctx context.Context, reference string) (rail.Outcome, error) {
	return r.outcome(ctx, "look up refund", reference, func(ctx context.Context, gateway Gateway) (rail.Outcome, error) {
		found, err := gateway.FindRefund(ctx, reference)
		if err != nil {
			return rail.Outcome{}, err
		}
		if found.Reference != reference {
			return rail.Outcome{}, fmt.Errorf("the processor answered about refund %q", found.Reference)
		}
		if found.State == RefundPending {
			return refundBy(ctx, gateway, found.RefundParams)
		}
		return outcomeOfRefund(found)
	})
}

// refundBy requests a refund and checks that the response is about it.
func refundBy(ctx context.Context, gateway Gateway, params RefundParams) (rail.Outcome, error) {
	refund, err := gateway.Refund(ctx, params)
	if err != nil {
		return rail.Outcome{}, err
	}
	if !refund.repeats(params) {
		return rail.Outcome{}, fmt.Errorf("the processor answered about refund %q of %d cents of %q, asked for %d of %q",
			refund.Reference, refund.AmountCents, refund.Payment, params.AmountCents, params.Payment)
	}
	return outcomeOfRefund(refund)
}
