package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/paywarrant/paywarrant/internal/pgpool"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// Update implements ledger.Store. A transaction that lost against another one, or
// with its connection, is retried for up to two seconds.
func (s *Store) Update(ctx context.Context, keys ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	var (
		lost bool
		own  decided
	)
	err := pgpool.Retry(ctx, func() (again bool, err error) {
		lost, err = s.once(ctx, keys, decide)
		return !errors.As(err, &own) && (lost || pgpool.Again(err)), err
	})
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own.error
	case lost:
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
	return failure(err)
}

// failure returns [ledger.ErrConflict] for a duplicate key, and [ledger.ErrUnavailable] if
// PostgreSQL cannot be reached, shuts down, starts, is read-only or has no room. Other
// errors are returned as they are.
func failure(err error) error {
	var (
		e       *pgconn.PgError
		connect *pgconn.ConnectError
	)
	switch {
	case errors.As(err, &e) && e.Code == "23505":
		return fmt.Errorf("%w: %w", ledger.ErrConflict, err)
	case errors.As(err, &e) && (pgpool.Again(err) || e.Code[:2] == "53" || e.Code == "25006"):
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	case errors.As(err, &connect), e == nil && pgconn.SafeToRetry(err):
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
	return err
}
