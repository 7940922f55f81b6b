package card

import (
	"context"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Authorize holds an amount by card, at most once per reference, and moves nothing. What
// [Rail.Charge] refuses from its arguments alone, Authorize refuses as well, and the
// processor never sees it. A repeated call returns the current outcome of the reference. It
// returns [rail.ErrReferenceReused] if payer, payee, mandate or amount differ from the first
// call's, or if the reference was charged. After any other error the outcome is unknown.
func (r *Rail) Authorize(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	cents, payable := payable(c)
	if !payable {
		return refused(rail.Unavailable), nil
	}
	return r.ask(ctx, "authorize", c.Reference, func(ctx context.Context, gateway Gateway) (Payment, error) {
		payment, err := gateway.Authorize(ctx, paymentParams(c, cents))
		if err != nil {
			return Payment{}, err
		}
		return payment, errors.Join(answers(payment, cents), holds(payment))
	})
}

// Capture moves a whole number of cents of a held reference, once, and gives the rest back.
// A reference that was never authorized is voided, so that a late Authorize holds nothing.
// The outcome is [rail.Refused] if the processor refuses the capture, and nothing is held
// any more. It returns [rail.ErrInvalidAmount] if c.Amount is not a positive number of whole
// cents or more than is held, and [rail.ErrReferenceReused] if another amount was captured
// or the reference was charged. After any other error the outcome is unknown.
func (r *Rail) Capture(ctx context.Context, c rail.Charge) (rail.Outcome, error) {
	cents, whole := c.Amount.WholeCents()
	if !whole || cents <= 0 {
		return rail.Outcome{}, fmt.Errorf("capture %s by card: %w: %s dollars are not a positive number of whole cents", c.Reference, rail.ErrInvalidAmount, c.Amount.Decimal())
	}
	return r.ask(ctx, "capture", c.Reference, func(ctx context.Context, gateway Gateway) (Payment, error) {
		payment, err := gateway.CaptureHeld(ctx, CaptureParams{Reference: c.Reference, AmountCents: cents})
		if errors.Is(err, ErrUnknownPayment) {
			payment, err = gateway.Void(ctx, c.Reference)
		}
		if err != nil {
			return Payment{}, err
		}
		return payment, captures(payment, cents)
	})
}

// Void cancels a reference. If the money has not moved, it never will, even if a charge
// arrives later, and the outcome is [rail.Refused]. If it has moved, the outcome is
// [rail.Succeeded]. After an error the outcome is unknown.
func (r *Rail) Void(ctx context.Context, reference string) (rail.Outcome, error) {
	return r.ask(ctx, "void", reference, func(ctx context.Context, gateway Gateway) (Payment, error) {
		return gateway.Void(ctx, reference)
	})
}

// holds checks that a response is about a payment that is not captured at once.
func holds(payment Payment) error {
	if payment.Capture != CaptureManual && payment.State != Voided {
		return fmt.Errorf("the processor answered about a payment in state %q that it captures itself", payment.State)
	}
	return nil
}

// captures checks that a response is about a decided payment, and about the requested amount.
func captures(payment Payment, cents money.Cents) error {
	switch payment.State {
	case Captured:
		if payment.CapturedCents != cents {
			return fmt.Errorf("the processor captured %d cents, asked for %d", payment.CapturedCents, cents)
		}
	case RequiresCapture:
		return errors.New("the processor answered a capture without capturing")
	case Voided, Declined:
	}
	return nil
}
