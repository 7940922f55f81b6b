package events

import (
	"math/rand/v2"
	"time"
)

// schedule lists the waits before each retry of a delivery. After the last retry the
// delivery has failed for good.
var schedule = []time.Duration{
	5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	// maxRetryAfter bounds what an endpoint may ask for.
	maxRetryAfter = 24 * time.Hour
	// disableAfter is how long an endpoint fails without any success before it is disabled.
	disableAfter = 5 * 24 * time.Hour
	// After breakAfter failures in a row the endpoint is paused: for a second, doubled at
	// each failure up to maxBreak.
	breakAfter = 10
	maxBreak   = time.Minute
)

// retryIn returns how long to wait after so many attempts, with up to a tenth more at
// random, so that deliveries that failed together are not retried together. It returns
// false if there is no further attempt.
func retryIn(attempts int) (time.Duration, bool) {
	if attempts > len(schedule) {
		return 0, false
	}
	wait := schedule[attempts-1]
	return wait + rand.N(wait/10), true //nolint:gosec // not a secret
}

// pauseAfter returns how long an endpoint is paused after so many failures in a row.
func pauseAfter(failures int) time.Duration {
	if failures < breakAfter {
		return 0
	}
	return min(time.Second<<min(failures-breakAfter, 16), maxBreak)
}
