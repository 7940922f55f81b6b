package pgpool

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/paywarrant/paywarrant/internal/sleep"
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
		if err == nil || !again || !time.Now().Before(until) {
			return err
		}
		if sleep.For(ctx, wait/2+rand.N(wait)) != nil { //nolint:gosec // each instance a little differently; not a secret
			return err
		}
	}
}
