package pgpool

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// retryFor is how long a transaction is retried: a restart of the database is mostly
	// over by then.
	retryFor = 2 * time.Second
	// firstWait and longestWait bound the pauses between, which double each time.
	firstWait, longestWait = 2 * time.Millisecond, 200 * time.Millisecond
)

// Retry runs a transaction until it succeeds, reports that it must not be run again, or
// has been retried for two seconds. It returns the transaction's last error.
func Retry(ctx context.Context, run func() (again bool, err error)) error {
	until := time.Now().Add(retryFor)
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		again, err := run()
		if err == nil || !again || !time.Now().Before(until) || !pause(ctx, wait) {
			return err
		}
	}
}

// pause waits for about wait, each instance a little differently. It reports false if ctx
// ends first.
func pause(ctx context.Context, wait time.Duration) bool {
	if ctx.Err() != nil {
		return false
	}
	timer := time.NewTimer(wait/2 + rand.N(wait)) //nolint:gosec // not a secret
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
