package ledger

import (
	"context"
	"fmt"
	"time"
)

// Keep is the retention period of idempotency keys, events and their deliveries, failed
// sessions, the sealed tokens of completed sessions, and the entries of merchants and persons in
// the audit log. Charges, postings, tallies and mandates are never deleted.
const Keep = 30 * 24 * time.Hour

// expireBatch is the number of rows of a kind that one transaction deletes. It is small
// because charges wait for the transaction.
const expireBatch = 500

// Expire deletes the rows that are older than [Keep], in small batches, until none is left
// or ctx ends. It returns the number of deleted rows, also with an error. now should be
// the database's time: a clock that runs ahead would delete rows that other instances
// need. Instances may call it concurrently.
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
