package stripe

import (
	"context"
	"errors"
	"fmt"

	api "github.com/stripe/stripe-go/v84"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/internal/sleep"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Capture moves a whole number of cents of a held reference, once; Stripe releases the rest.
// A reference that was never authorized is used up, so that a late Authorize holds nothing.
// It returns [rail.ErrInvalidAmount] if c.Amount is not a positive number of whole cents or
// more than is held, and [rail.ErrReferenceReused] if another amount was captured or the
// reference was charged. After any other error the outcome is unknown.
func (r *Rail) Capture(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	cents, whole := c.Amount.WholeCents()
	if !whole || cents <= 0 {
		return rail.Outcome{}, fmt.Errorf("capture %s by card: %w: %s dollars are not a positive number of whole cents", c.Reference, rail.ErrInvalidAmount, c.Amount.Decimal())
	}
	return ask(ctx, r, "capture", c.Reference, func(ctx context.Context) (rail.Outcome, error) {
		one, err := r.find(ctx, c.Reference, c.Instrument.Customer)
		if err == nil && one == nil {
			one, err = r.useUp(ctx, c.Reference, rail.Unavailable, 1)
		}
		if err == nil && one.Status == api.PaymentIntentStatusRequiresConfirmation {
			one, err = r.cancel(ctx, one.ID, api.PaymentIntentCancellationReasonRequestedByCustomer)
		}
		if err == nil && one.Status == api.PaymentIntentStatusRequiresCapture {
			one, err = r.capture(ctx, c.Reference, one, cents)
		}
		if err != nil {
			return rail.Outcome{}, err
		}
		return captured(one, cents)
	})
}

// capture captures an intent that holds money, and returns its state afterwards.
func (r *Rail) capture(ctx context.Context, reference string, one *api.PaymentIntent, cents money.Cents) (*api.PaymentIntent, error) {
	switch {
	case one.CaptureMethod != api.PaymentIntentCaptureMethodManual:
		return nil, rail.ErrReferenceReused
	case int64(cents) > one.AmountCapturable:
		return nil, fmt.Errorf("%w: %d cents are held", rail.ErrInvalidAmount, one.AmountCapturable)
	}
	return r.captureOnce(ctx, reference, one.ID, cents)
}

// captureOnce asks Stripe to capture an intent. If it refused that before, while the intent
// holds the money, the answer is stored for its key, and the next key asks again: however
// many keys are used, Stripe captures an intent once.
func (r *Rail) captureOnce(ctx context.Context, reference, id string, cents money.Cents) (*api.PaymentIntent, error) {
	for key := 1; ; key++ {
		moved, last, err := keyedFrom(ctx, "capture:"+reference, key, func(ctx context.Context, key string) (*api.PaymentIntent, error) {
			params := &api.PaymentIntentCaptureParams{AmountToCapture: api.Int64(int64(cents)), Expand: expanded()}
			params.SetIdempotencyKey(key)
			return r.client.V1PaymentIntents.Capture(ctx, id, params)
		}, never)
		switch {
		case err == nil && !replayed(moved.LastResponse):
			return moved, nil
		case reused(err):
			return r.decided(ctx, id)
		case err != nil && !invalid(err) && !declined(err):
			return nil, err
		}
		now, e := r.retrieve(ctx, id)
		if e != nil || now.Status != api.PaymentIntentStatusRequiresCapture || !stored(err) || last >= maxKeys {
			return now, e
		}
		key = last
	}
}

// decided waits for the capture of another amount, which is being made.
func (r *Rail) decided(ctx context.Context, id string) (*api.PaymentIntent, error) {
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		one, err := r.retrieve(ctx, id)
		if err != nil || one.Status != api.PaymentIntentStatusRequiresCapture {
			return one, err
		}
		if sleep.For(ctx, pause) != nil {
			return nil, errors.New("another capture is being made")
		}
	}
}

// captured returns the outcome of an intent that was to be captured.
func captured(one *api.PaymentIntent, cents money.Cents) (rail.Outcome, error) {
	out, err := outcomeOf(one)
	switch {
	case err != nil:
		return rail.Outcome{}, err
	case out.Status == rail.Succeeded && (one.CaptureMethod != api.PaymentIntentCaptureMethodManual || one.AmountReceived != int64(cents)):
		return rail.Outcome{}, rail.ErrReferenceReused
	case out.Status == rail.Held, out.Status == rail.Unseen:
		return rail.Outcome{}, fmt.Errorf("the processor answered a capture with state %q of payment %s", one.Status, one.ID)
	}
	return out, nil
}

// Void cancels a reference. If the money has not moved, it never will, even if a charge
// arrives later, and the outcome is [rail.Refused]. If it has moved, the outcome is
// [rail.Succeeded]. After an error, also while Stripe still processes the payment, the
// outcome is unknown.
func (r *Rail) Void(ctx context.Context, reference string) (rail.Outcome, error) {
	return ask(ctx, r, "void", reference, func(ctx context.Context) (rail.Outcome, error) {
		one, err := r.find(ctx, reference, "")
		if err == nil && one == nil {
			one, err = r.useUp(ctx, reference, rail.Unavailable, 1)
		}
		if err == nil && voidable(one) {
			one, err = r.cancel(ctx, one.ID, api.PaymentIntentCancellationReasonRequestedByCustomer)
		}
		if err != nil {
			return rail.Outcome{}, err
		}
		out, err := outcomeOf(one)
		if err == nil && out.Status != rail.Refused && out.Status != rail.Succeeded {
			return rail.Outcome{}, errors.New("the processor still processes the payment")
		}
		return out, err
	})
}

// voidable reports whether an intent may still move money.
func voidable(one *api.PaymentIntent) bool {
	switch one.Status {
	case api.PaymentIntentStatusSucceeded, api.PaymentIntentStatusCanceled:
		return false
	case api.PaymentIntentStatusRequiresPaymentMethod:
		return one.LastPaymentError == nil // a declined one is never confirmed again
	default:
		return true
	}
}
