package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// firstPoll and longestPoll bound the time between two looks at a session. A
	// person takes a minute or more, and many sessions may be waited for at once.
	firstPoll   = 500 * time.Millisecond
	longestPoll = 5 * time.Second
	// maxFailedPolls is how many looks in a row may fail, each after its own
	// retries, before the wait is given up.
	maxFailedPolls = 10
)

// ErrSetupFailed is matched by every [*SetupFailedError].
var ErrSetupFailed = errors.New("setup failed")

// SetupFailedError says that a setup session has ended without a mandate. That is
// final: create another session.
type SetupFailedError struct {
	// Reason is declined, expired or too_many_attempts, or empty where the service does not say.
	Reason string
}

// Error tells the reason.
func (e *SetupFailedError) Error() string {
	if e.Reason == "" {
		return ErrSetupFailed.Error()
	}
	return ErrSetupFailed.Error() + ": " + e.Reason
}

// Is tells whether target is [ErrSetupFailed].
func (e *SetupFailedError) Is(target error) bool { return target == ErrSetupFailed }

// WaitForMandate is [Client.WaitForSetup] for those who want the mandate's token
// alone, for [ChargeParams].Mandate. The token is a secret.
//
// Errors: those of WaitForSetup, and [ErrUnexpectedAnswer] where a completed
// session comes without its mandate.
func (c *Client) WaitForMandate(ctx context.Context, sessionToken string) (string, error) {
	s, err := c.WaitForSetup(ctx, sessionToken)
	if err != nil {
		return "", err
	}
	if s.IntentMandate == "" {
		return "", fmt.Errorf("wait for setup: completed without a mandate: %w", ErrUnexpectedAnswer)
	}
	return s.IntentMandate, nil
}

// WaitForSetup reads a session until the person has decided, and returns the
// completed session. The time between two reads grows from half a second to five.
// It waits as long as the session lives, a day at most: bound it with ctx. A wait
// that was given up can be taken up again.
//
// Errors: [ErrSetupFailed] with the reason, ctx's error once it is done, what
// [Client.Session] returns for good, and what it returned last where ten reads in
// a row failed on the network or the service.
func (c *Client) WaitForSetup(ctx context.Context, sessionToken string) (Session, error) {
	failures, interval := 0, firstPoll
	for {
		s, err := c.Session(ctx, sessionToken)
		switch {
		case err == nil && s.Status == SessionCompleted:
			return s, nil
		case err == nil && s.Status == SessionFailed:
			return Session{}, fmt.Errorf("wait for setup: %w", &SetupFailedError{Reason: s.FailureReason})
		case err == nil:
			failures = 0
		case !passingError(err):
			return Session{}, fmt.Errorf("wait for setup: %w", err)
		default:
			failures++
		}
		if failures == maxFailedPolls {
			return Session{}, fmt.Errorf("wait for setup: %w", err)
		}
		wait := max(interval/2+rand.N(interval/2), askedFor(err)) //nolint:gosec // a pause is no secret
		if stopped := sleep(ctx, wait); stopped != nil {
			return Session{}, fmt.Errorf("wait for setup: %w", stoppedAfter(stopped, err))
		}
		interval = min(interval*3/2, longestPoll)
	}
}

// passingError tells whether a later read may fare better.
func passingError(err error) bool {
	var lost *transportError
	if errors.As(err, &lost) {
		return true
	}
	var e *Error
	return errors.As(err, &e) && (passing(e) || e.Status >= 500 || e.Code == CodeUnexpectedAnswer && e.Status < 300)
}

// askedFor is how long the service asked to wait, as far as it is heeded.
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
