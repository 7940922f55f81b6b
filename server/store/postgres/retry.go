package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/paywarrant/paywarrant/internal/pgdb"
	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	// retryFor is how long an update is run again before it fails: a restart of
	// the database is mostly over by then.
	retryFor = 2 * time.Second
	// firstWait and longestWait are the waits between, doubled each time.
	firstWait, longestWait = 2 * time.Millisecond, 200 * time.Millisecond
)

// Update implements ledger.Store. A transaction that lost against another one, or
// with its connection, is run again for up to two seconds.
func (s *Store) Update(ctx context.Context, keys ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	until := time.Now().Add(retryFor)
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		lost, err := s.once(ctx, keys, decide)
		var own decided
		switch {
		case err == nil:
			return nil
		case errors.As(err, &own):
			return own.error
		case ctx.Err() == nil && (lost || pgdb.Again(err)) && time.Now().Before(until):
			if e := pause(ctx, wait); e == nil {
				continue
			}
		case lost:
			return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
		}
		return failure(err)
	}
}

// pause waits about so long, each instance a little different.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait/2 + rand.N(wait)) //nolint:gosec // not a secret
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failure tells which of the ledger's errors one of PostgreSQL's means: a conflict,
// or that it cannot do it now, whether it does not answer, ends, starts, only
// reads, or has no room.
func failure(err error) error {
	var (
		e       *pgconn.PgError
		connect *pgconn.ConnectError
	)
	switch {
	case errors.As(err, &e) && e.Code == "23505":
		return fmt.Errorf("%w: %w", ledger.ErrConflict, err)
	case errors.As(err, &e) && (pgdb.Again(err) || e.Code[:2] == "53" || e.Code == "25006"):
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	case errors.As(err, &connect), e == nil && pgconn.SafeToRetry(err):
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
	return err
}
