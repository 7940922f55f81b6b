package x402

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// RefusedError reports that the facilitator refused the payment. No money moved.
type RefusedError struct {
	// Reason is the facilitator's code.
	Reason Reason
	// Message is the facilitator's text for people. May be empty.
	Message string
	// Payer is the payer's address, if the facilitator named it.
	Payer string
}

// Error implements error.
func (e *RefusedError) Error() string { return "x402: payment refused: " + clip(string(e.Reason)) }

// PendingError reports a transfer that was broadcast and is not confirmed yet.
type PendingError struct {
	// Transaction is the hash of the transfer.
	Transaction string
	// RetryAfter is how long to wait before asking again. Zero if the facilitator did
	// not say.
	RetryAfter time.Duration
}

// Error implements error.
func (e *PendingError) Error() string { return "x402: settlement pending: " + e.Transaction }

// UnavailableError reports that the facilitator gave no usable answer. The payment may
// or may not have been made.
type UnavailableError struct {
	// Status is the HTTP status of the response. Zero if there was none.
	Status int
	// Timeout reports whether the call timed out.
	Timeout bool
	// RetryAfter is how long to wait before calling again. Zero if the facilitator did
	// not say.
	RetryAfter time.Duration

	err error
}

// Error implements error.
func (e *UnavailableError) Error() string { return "x402: facilitator unavailable: " + e.err.Error() }

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.err }

// failed returns the error of a call that got no response.
func failed(path string, err error) error {
	var timeout net.Error
	late := errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout())
	return &UnavailableError{Timeout: late, err: fmt.Errorf("call facilitator %s: %w", path, err)}
}

// maxRetryAfter is the longest Retry-After that is passed on.
const maxRetryAfter = time.Hour
