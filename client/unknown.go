package client

import (
	"errors"
	"fmt"
)

// ErrUnknownOutcome is matched by every [*UnknownOutcomeError].
var ErrUnknownOutcome = errors.New("outcome unknown")

// UnknownOutcomeError says that a charge or settlement may have been carried
// out, or may not: it was sent, and no answer that settles the matter came back
// before the retries or the time were used up. The same call with the same
// IdempotencyKey finds the outcome, however much later (30 days at least). A
// call with another key, or without one, may take the money twice.
//
// It is returned by Charge and SettlePaywall, and to be looked for before any
// other error.
type UnknownOutcomeError struct {
	// IdempotencyKey is the key that the call was sent with: yours, or the one made for it.
	IdempotencyKey string
	// Err is what left the outcome open: an [*Error] such as [ErrUnavailable], or
	// an error of the network. A later refusal that settles nothing, such as
	// [ErrRateLimited], is not shown here, so that it is not mistaken for "not charged".
	Err error
}

// Error tells the cause and the key.
func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("%v: %v; the same call with idempotency key %q finds it", ErrUnknownOutcome, e.Err, e.IdempotencyKey)
}

// Unwrap returns what left the outcome open.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// Is tells whether target is [ErrUnknownOutcome].
func (e *UnknownOutcomeError) Is(target error) bool { return target == ErrUnknownOutcome }
