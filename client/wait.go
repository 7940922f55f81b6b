package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/paywarrant/paywarrant/internal/sleep"
)

const (
	// firstPoll and longestPoll bound the time between two reads of a session. A person
	// takes a minute or more, and a program may wait for many sessions at once.
	firstPoll   = 500 * time.Millisecond
	longestPoll = 5 * time.Second
	// maxFailedPolls is the number of consecutive reads that may fail, each after its own
	// retries.
	maxFailedPolls = 10
)

// ErrSetupFailed matches every [*SetupFailedError].
var ErrSetupFailed = errors.New("setup failed")

// SetupFailedError reports that a setup session ended without a mandate. This is final:
// create another session.
type SetupFailedError struct {
	// Reason is declined, expired or too_many_attempts, or empty if the service gives none.
	Reason string
}

// Error returns the reason.
func (e *SetupFailedError) Error() string {
	if e.Reason == "" {
		return ErrSetupFailed.Error()
	}
	return ErrSetupFailed.Error() + ": " + e.Reason
}

// Is reports whether target is [ErrSetupFailed].
func (e *SetupFailedError) Is(target error) bool { return target == ErrSetupFailed }

// WaitForMandate waits like [Client.WaitForSetup] and returns only the mandate's token,
// for [ChargeParams].Mandate. The token is a secret.
//
// Errors: those of WaitForSetup, and [ErrUnexpectedAnswer] if a completed session has
// no mandate.
func (c *Client) WaitForMandate(ctx context.Context, sessionToken string) (string, error) {
	s, err := c.WaitForSetup(ctx, sessionToken)
	if err != nil {
		return "", err
	}
	if s.Mandate == "" {
		return "", fmt.Errorf("client: wait for setup: completed without a mandate: %w", ErrUnexpectedAnswer)
	}
	return s.Mandate, nil
}

// WaitForSetup polls a session until the person has decided, and returns the completed
// session. The interval grows from half a second to five seconds. A session lives for
// 24 hours; use ctx to wait for less. Calling it again continues the wait.
//
// Errors: [ErrSetupFailed] with the reason, ctx's error once it is done, a permanent
// error of [Client.Session], and the last temporary one after ten reads in a row failed.
func (c *Client) WaitForSetup(ctx context.Context, sessionToken string) (Session, error) {
	failures, interval := 0, firstPoll
	for {
		s, err := c.Session(ctx, sessionToken)
		switch {
		case err == nil && s.Status == SessionCompleted:
			return s, nil
		case err == nil && s.Status == SessionFailed:
			return Session{}, fmt.Errorf("client: wait for setup: %w", &SetupFailedError{Reason: s.FailureReason})
		case err == nil:
			failures = 0
		case !passingError(err):
			return Session{}, fmt.Errorf("client: wait for setup: %w", err)
		default:
			failures++
		}
		if failures == maxFailedPolls {
			return Session{}, fmt.Errorf("client: wait for setup: %w", err)
		}
		wait := max(interval/2+rand.N(interval/2), askedFor(err)) //nolint:gosec // a pause is no secret
		if stopped := sleep.For(ctx, wait); stopped != nil {
			return Session{}, fmt.Errorf("client: wait for setup: %w", stoppedAfter(stopped, err))
		}
		interval = min(interval*3/2, longestPoll)
	}
}

// passingError reports whether a later read may succeed.
func passingError(err error) bool {
	var lost *transportError
	if errors.As(err, &lost) {
		return true
	}
	var e *Error
	return errors.As(err, &e) && (passing(e) || e.Status >= 500 || e.Code == CodeUnexpectedAnswer && e.Status < 300)
}

// askedFor returns how long the service asked to wait, up to longestRetryAfter.
func askedFor(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return min(e.RetryAfter, longestRetryAfter)
	}
	return 0
}

func stoppedAfter(stopped, last error) error {
	if last == nil {
		return stopped
	}
	return fmt.Errorf("%w, after: %w", stopped, last)
}
