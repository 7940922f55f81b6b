package rail

import (
	"context"
	"errors"
)

// ErrInvalidAmount reports a capture of an amount that the rail cannot capture: it is not
// positive, the rail has no unit that small (the card rail captures whole cents), or more
// than is held. Nothing has changed, and the amount stays held.
var ErrInvalidAmount = errors.New("rail: amount cannot be captured")

// Authorizer is a [Rail] that can hold an amount before it moves it. If a rail is not an
// Authorizer, only the ledger holds the amount, and the rail is asked to Charge at the
// capture.
//
// A reference is either charged or authorized: Charge returns [ErrReferenceReused] for an
// authorized reference, and so does Authorize for a charged one. Lookup returns [Held]
// while the amount is held. It never captures an authorized reference.
type Authorizer interface {
	// Authorize holds an amount, at most once per reference, and returns [Held],
	// [Refused] or [Pending]. It never moves money. A repeated call returns the current
	// outcome of the reference: after a capture [Succeeded], after a void [Refused]. It
	// returns [ErrReferenceReused] if payer, payee or amount differ from the first call.
	Authorize(ctx context.Context, c Charge) (Outcome, error)
	// Capture moves c.Amount of a held reference, once, and gives the rest of what is held
	// back to the payer. Payer and payee are those of Authorize. It returns [Succeeded],
	// [Refused] or [Pending]. Refused is final and nothing is held any more: the reference
	// was never authorized (and a late Authorize is refused too), or it was declined,
	// voided, or has expired at the processor. A repeated call returns the outcome of the
	// first. It returns [ErrReferenceReused] if the first capture succeeded with another
	// amount, or the reference was charged and not authorized, and [ErrInvalidAmount] if
	// the amount cannot be captured. To capture nothing, call Void.
	Capture(ctx context.Context, c Charge) (Outcome, error)
	// Void gives a held amount back. It returns [Refused] if the money has not moved and
	// never will, also for an unknown reference, whose later Authorize or Charge is
	// refused. It returns [Succeeded] if the money has moved.
	Void(ctx context.Context, reference string) (Outcome, error)
}
