package x402

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// RefusedError is a definite no: the payment is not good, and nothing moved.
type RefusedError struct {
	Reason  Reason
	Message string // for a person; may be empty, and is the facilitator's text
	Payer   string // may be empty
}

func (e *RefusedError) Error() string { return "x402: payment refused: " + clip(string(e.Reason)) }

// PendingError is a transfer that was broadcast and has not been seen to land.
type PendingError struct {
	Transaction string
	RetryAfter  time.Duration // zero where it is not said
}

func (e *PendingError) Error() string { return "x402: settlement pending: " + e.Transaction }

// UnavailableError is no verdict: no answer, or none that can be relied on. The
// payment may or may not have been made.
type UnavailableError struct {
	// Status of the answer; 0 where none came.
	Status int
	// Timeout tells that the time ran out.
	Timeout bool
	// RetryAfter is how long the facilitator asks to wait; zero where it does not say.
	RetryAfter time.Duration

	err error
}

func (e *UnavailableError) Error() string { return "x402: facilitator unavailable: " + e.err.Error() }

// Unwrap gives the cause.
func (e *UnavailableError) Unwrap() error { return e.err }

// failed is the error of a call without an answer.
func failed(path string, err error) error {
	var timeout net.Error
	late := errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout())
	return &UnavailableError{Timeout: late, err: fmt.Errorf("call facilitator %s: %w", path, err)}
}

// maxRetryAfter bounds what a Retry-After is read as.
const maxRetryAfter = time.Hour
