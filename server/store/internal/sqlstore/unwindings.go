package sqlstore

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// DueUnwindings implements [ledger.Unwindings].
func (s *Store) DueUnwindings(ctx context.Context, now time.Time, limit int) ([]ledger.Unwinding, error) {
	return many(s, row.Unwinding)(s.readQ.DueUnwindings(ctx, db.DueUnwindingsParams{NowMs: row.Millis(now), Most: int64(limit)}))
}

// PutOffUnwinding implements [ledger.Unwindings].
func (s *Store) PutOffUnwinding(ctx context.Context, u ledger.Unwinding, due time.Time, attempts int) (done bool, err error) {
	err = put(ctx, s, "put off unwinding", func(ctx context.Context, p db.PutOffUnwindingParams) error {
		n, err := s.writeQ.PutOffUnwinding(ctx, p)
		done = n > 0
		return err
	}, db.PutOffUnwindingParams{ID: u.ID, DueMs: row.Millis(u.Due), FreshMs: row.Millis(due), SinceMs: row.Millis(u.Since), Attempts: int64(attempts)})
	return done && err == nil, err
}

// EndUnwinding implements [ledger.Unwindings].
func (s *Store) EndUnwinding(ctx context.Context, u ledger.Unwinding) (done bool, err error) {
	err = put(ctx, s, "end unwinding", func(ctx context.Context, p db.EndUnwindingParams) error {
		n, err := s.writeQ.EndUnwinding(ctx, p)
		done = n > 0
		return err
	}, db.EndUnwindingParams{ID: u.ID, DueMs: row.Millis(u.Due)})
	return done && err == nil, err
}

// UnwindingBacklog implements [ledger.Unwindings].
func (s *Store) UnwindingBacklog(ctx context.Context, now time.Time) (ledger.UnwindingBacklog, error) {
	r, err := s.readQ.UnwindingBacklog(ctx, row.Millis(now))
	if err != nil {
		return ledger.UnwindingBacklog{}, s.fail("count unwindings", err)
	}
	b := ledger.UnwindingBacklog{Count: r.Count}
	if r.OldestMs > 0 {
		b.Oldest = time.UnixMilli(r.OldestMs).UTC()
	}
	return b, nil
}
