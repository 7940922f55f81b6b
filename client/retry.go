package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

const (
	// firstPause and longestPause bound the random pause before a retry. It doubles with
	// each retry.
	firstPause   = 200 * time.Millisecond
	doublings    = 16 // from there on the pause is the longest; more would overflow
	longestPause = 5 * time.Second
	// longestRetryAfter is the longest Retry-After that a call waits for. A longer one is
	// returned to the caller in Error.RetryAfter.
	longestRetryAfter = 30 * time.Second
)

// maxWaits limits how often a call that is still in progress is repeated, besides the
// retries. It covers the duration of the longest charge.
const maxWaits = 30

// effect is what an attempt reveals about the requested work.
type effect int

const (
	// unknown: the work may have been done. It is the zero value because it is the safe one.
	unknown effect = iota
	// none: this attempt did nothing. Earlier attempts may have.
	none
	// decided: the service knows the call and its outcome. This also holds for earlier
	// attempts, since they carried the same idempotency key.
	decided
)

// outcome is the result of one attempt.
type outcome struct {
	err        error // nil: success
	effect     effect
	passing    bool // a retry may succeed
	status     int
	requestID  string
	retryAfter time.Duration
}

// inProgress reports whether the service is still working on an earlier attempt.
func (o outcome) inProgress() bool { return errors.Is(o.err, ErrIdempotencyInProgress) }

// effectOf returns what a refusal reveals about the work. Only refusals that the service
// returns after it looked up the idempotency key (decisions.md §4) decide anything.
func (k *call) effectOf(e *Error, genuine bool) effect {
	if !genuine {
		return unknown
	}
	if e.Status >= http.StatusInternalServerError {
		// A 503 may hide a charge that was stored under its key. For a call without a key
		// it means that the service turned the request away.
		if e.Code == CodeUnavailable && e.Status == http.StatusServiceUnavailable && !k.idempotent {
			return none
		}
		return unknown
	}
	switch e.Code {
	case CodePerTxLimit, CodeDailyLimit, CodeMonthlyLimit, CodeTotalLimit, CodeVelocityLimit, CodePayeeLimit,
		CodeMerchantLimit, CodeRailUnavailable, CodeMerchantInactive,
		CodeMandateInvalid, CodeMandateRevoked, CodeMandateExpired, CodeMandatePaused, CodeMerchantNotAllowed, CodeIdempotencyMismatch:
		return decided
	case CodeIdempotencyInProgress, CodeInternal, CodeUnavailable, CodeUnexpectedAnswer:
		return unknown
	case CodeValidation, CodeUnauthorized, CodeInsufficientScope, CodeNotFound, CodeMethodNotAllowed, CodeSessionFinished, CodeAuthorizationEnded, CodeNotRefundable,
		CodeTooManyRefunds, CodeRefundRefused, CodeOfferNotPayable, CodePayloadTooLarge, CodeUnsupportedMediaType, CodeRateLimited:
		return none
	}
	return none // a code of a newer service: nothing is attempted before a 4xx
}

// Decides reports whether the refusal is the outcome of the call and of earlier ones with its
// idempotency key: the service looked the key up before it refused. After any other error, an
// earlier call may have moved money.
func (e *Error) Decides() bool { return (&call{}).effectOf(e, true) == decided }

// passing reports whether the refusal is temporary.
func passing(e *Error) bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusConflict:
		return e.Code == CodeIdempotencyInProgress
	}
	return false
}

// mayRepeat reports whether the call may be repeated after res: always if it is
// idempotent, otherwise only if the attempt did nothing.
func (k *call) mayRepeat(res outcome) bool {
	return res.passing && (k.idempotent || res.effect == none)
}

// pause returns the wait before the next attempt: what the service asked for plus a
// random time whose upper bound doubles, so that clients turned away together do not
// return together. It returns false if the wait is too long or would outlast ctx.
func pause(ctx context.Context, attempt int, asked time.Duration) (time.Duration, bool) {
	if asked > longestRetryAfter {
		return 0, false
	}
	wait := asked + rand.N(min(firstPause<<min(attempt-1, doublings), longestPause)) //nolint:gosec // a pause is no secret
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= wait {
		return 0, false
	}
	return wait, true
}
