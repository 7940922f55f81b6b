package client

import (
	"errors"
	"fmt"
)

// ErrUnknownOutcome matches every [*UnknownOutcomeError].
var ErrUnknownOutcome = errors.New("outcome unknown")

// UnknownOutcomeError reports that a call that moves money may or may not have happened:
// the request was sent, and no conclusive response arrived before the retries or the
// time ran out. Repeating the call with IdempotencyKey returns the outcome, for at
// least 30 days. A call with another key, or with none, may take the money twice.
//
// Charge, Authorize, Capture, Refund and SettlePaywall return it. Check for it before any other error.
type UnknownOutcomeError struct {
	// IdempotencyKey is the key that the call was sent with: yours, or the generated one.
	IdempotencyKey string
	// Err is what left the outcome open: an [*Error] such as [ErrUnavailable], or a
	// network error. It is never a later, inconclusive refusal such as
	// [ErrRateLimited], which could be mistaken for "not charged".
	Err error
}

// Error returns the cause and the key.
func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("%v: %v; repeat the call with idempotency key %q to learn it", ErrUnknownOutcome, e.Err, e.IdempotencyKey)
}

// Unwrap returns the cause.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrUnknownOutcome].
func (e *UnknownOutcomeError) Is(target error) bool { return target == ErrUnknownOutcome }
