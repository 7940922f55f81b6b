package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	// firstPause and longestPause bound the random pause before a retry, which
	// doubles with each.
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second
	// longestRetryAfter is the longest that a call waits because the service asked
	// it to. A longer wish is left to the caller, in Error.RetryAfter.
	longestRetryAfter = 30 * time.Second
)

// maxWaits is how often a call that the service is still working on is asked for
// again, besides the retries: for as long as the longest charge takes to end.
const maxWaits = 30

// effect is what an attempt tells of the work that was asked for.
type effect int

const (
	// unknown: the work may have been done. The zero value, since it is the safe one.
	unknown effect = iota
	// none: this attempt did nothing. It says nothing of those before it.
	none
	// decided: the service knows the call and what came of it, which holds for
	// the attempts before as well, since they carried the same idempotency key.
	decided
)

// outcome is how one attempt ended.
type outcome struct {
	err        error // nil: done
	effect     effect
	passing    bool // the same request may fare better in a while
	status     int
	requestID  string
	retryAfter time.Duration
}

// inProgress tells that the service still works on an earlier attempt, so that
// this one was no failure.
func (o outcome) inProgress() bool { return errors.Is(o.err, ErrIdempotencyInProgress) }

// effectOf tells what a refusal says of the work. Only refusals that the service
// gives after it has looked the idempotency key up (decisions.md §4) decide anything.
func (k *call) effectOf(e *Error, genuine bool) effect {
	if !genuine {
		return unknown
	}
	if e.Status >= http.StatusInternalServerError {
		// A 503 may hide a charge that its key will find. Where nothing is kept
		// under a key, it says that the service turned the request away.
		if e.Code == CodeUnavailable && e.Status == http.StatusServiceUnavailable && !k.idempotent {
			return none
		}
		return unknown
	}
	switch e.Code {
	case CodePerTxLimit, CodeMonthlyLimit, CodeMerchantLimit, CodeRailUnavailable, CodeMerchantInactive,
		CodeMandateInvalid, CodeMandateRevoked, CodeMandateExpired, CodeMerchantNotAllowed, CodeIdempotencyMismatch:
		return decided
	case CodeIdempotencyInProgress, CodeInternal, CodeUnavailable, CodeUnexpectedAnswer:
		return unknown
	case CodeValidation, CodeUnauthorized, CodeNotFound, CodeMethodNotAllowed, CodeSessionFinished,
		CodePayloadTooLarge, CodeUnsupportedMediaType, CodeRateLimited:
		return none
	}
	return none // a code of a newer service: a 4xx attempts nothing
}

// passing tells whether a refusal is one of a moment.
func passing(e *Error) bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusConflict:
		return e.Code == CodeIdempotencyInProgress
	}
	return false
}

// mayRepeat tells whether the call may be sent again after res: what can be done
// twice without harm always, the rest only where nothing was done.
func (k *call) mayRepeat(res outcome) bool {
	return res.passing && (k.idempotent || res.effect == none)
}

// pause is how long to wait before the next attempt: a random time up to a bound
// that doubles, on top of what the service asked for, so that those it turned
// away together do not come back together. False where the wait would be too
// long, or last beyond ctx.
func pause(ctx context.Context, attempt int, asked time.Duration) (time.Duration, bool) {
	if asked > longestRetryAfter {
		return 0, false
	}
	wait := asked + rand.N(min(firstPause<<(attempt-1), longestPause)) //nolint:gosec // a pause is no secret
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
		return 0, false
	}
	return wait, true
}

// sleep waits for d, or until ctx is done and returns its error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
