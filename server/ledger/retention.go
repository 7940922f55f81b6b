package ledger

import (
	"context"
	"fmt"
	"time"
)

// Keep is how long idempotency keys, events and their deliveries, sessions
// that came to nothing and the sealed tokens of completed sessions are kept. Charges,
// postings, tallies and mandates are kept for good.
const Keep = 30 * 24 * time.Hour

// expireBatch is how many rows of a kind one transaction deletes. It is small because
// charges wait for it.
const expireBatch = 500

// Expire deletes what has been kept for [Keep] at a time, in small batches, until
// nothing is left to delete or ctx ends, and returns how many rows it deleted. The
// time should be the database's, since one clock that runs ahead would delete what all
// instances still need. Several instances may call it at once. What it has deleted when
// it returns an error stays deleted.
func (l *Ledger) Expire(ctx context.Context, now time.Time) (int, error) {
	before, sum := now.Add(-Keep), 0
	for {
		n, err := l.store.Expire(ctx, before, expireBatch)
		sum += n
		if err != nil {
			return sum, fmt.Errorf("expire old rows: %w", err)
		}
		if n == 0 {
			return sum, nil
		}
	}
}
