package events

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// schedule are the waits before each retry of a delivery; after the last it has
// failed for good.
var schedule = []time.Duration{
	5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	// maxRetryAfter bounds what an endpoint may ask for.
	maxRetryAfter = 24 * time.Hour
	// disableAfter is how long an endpoint fails without any success before it is disabled.
	disableAfter = 5 * 24 * time.Hour
	// breakAfter failures in a row the endpoint is left alone for a while: a second,
	// doubled each time, a minute at most.
	breakAfter = 10
	maxBreak   = time.Minute
)

// retryIn is how long to wait after so many attempts: a tenth more at random, so
// that deliveries that failed together do not come together again. False: no more.
func retryIn(attempts int) (time.Duration, bool) {
	if attempts > len(schedule) {
		return 0, false
	}
	wait := schedule[attempts-1]
	return wait + rand.N(wait/10), true //nolint:gosec // not a secret
}

// pauseAfter is how long to leave an endpoint alone that failed so often in a row.
func pauseAfter(failures int) time.Duration {
	if failures < breakAfter {
		return 0
	}
	return min(time.Second<<min(failures-breakAfter, 16), maxBreak)
}

// retryAfter reads the header: seconds or a date (RFC 9110, section 10.2.3).
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
