package bundle

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// SQLSchema creates the table that [SQL] uses, on SQLite and on databases that speak
// PostgreSQL's dialect.
const SQLSchema = `CREATE TABLE IF NOT EXISTS paywall_bundles (
	id TEXT PRIMARY KEY,
	tenant_id TEXT NOT NULL,
	tier TEXT NOT NULL,
	requests BIGINT NOT NULL CHECK (requests > 0),
	remaining BIGINT NOT NULL CHECK (remaining >= 0 AND remaining <= requests),
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL
)`

const sqlColumns = "id, tenant_id, tier, requests, remaining, created_at, expires_at"

// SQL is a [Store] in a database, which several instances can share. It is safe for
// concurrent use.
type SQL struct{ db *sql.DB }

// NewSQL returns an SQL. The driver must support $1 and RETURNING. It performs no I/O;
// [SQL.Migrate] creates the table.
func NewSQL(db *sql.DB) *SQL { return &SQL{db} }

// Migrate creates the table unless it exists. It returns errors of the database.
func (s *SQL) Migrate(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, SQLSchema); err != nil {
		return fmt.Errorf("bundle: migrate: %w", err)
	}
	return nil
}

// Create implements [Store].
func (s *SQL) Create(ctx context.Context, b Bundle) error {
	done, err := s.db.ExecContext(ctx,
		"INSERT INTO paywall_bundles ("+sqlColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING",
		b.ID, b.TenantID, b.Tier, b.Requests, b.Remaining, b.CreatedAt.UnixMilli(), b.ExpiresAt.UnixMilli())
	return changed(done, err, "create", ErrExists)
}

// Deduct implements [Store]. One statement checks and takes the credit, so that concurrent
// calls cannot both take the last one.
func (s *SQL) Deduct(ctx context.Context, id string, now time.Time) (Bundle, error) {
	b, err := scan(s.db.QueryRowContext(ctx,
		"UPDATE paywall_bundles SET remaining = remaining - 1 WHERE id = $1 AND remaining > 0 AND expires_at > $2 RETURNING "+sqlColumns,
		id, now.UnixMilli()), "deduct")
	if !errors.Is(err, ErrNotFound) {
		return b, err
	}
	if b, err = s.Read(ctx, id); err != nil {
		return b, err
	}
	return b, ErrEmpty
}

// Refund implements [Store].
func (s *SQL) Refund(ctx context.Context, id string) error {
	done, err := s.db.ExecContext(ctx, "UPDATE paywall_bundles SET remaining = remaining + 1 WHERE id = $1 AND remaining < requests", id)
	if err = changed(done, err, "refund", ErrNotFound); !errors.Is(err, ErrNotFound) {
		return err
	}
	_, err = s.Read(ctx, id) // all credits are there, or no such bundle
	return err
}

// Read implements [Store].
func (s *SQL) Read(ctx context.Context, id string) (Bundle, error) {
	return scan(s.db.QueryRowContext(ctx, "SELECT "+sqlColumns+" FROM paywall_bundles WHERE id = $1", id), "read")
}

// changed returns none if no row was changed.
func changed(done sql.Result, err error, doing string, none error) error {
	var rows int64
	if err == nil {
		rows, err = done.RowsAffected()
	}
	switch {
	case err != nil:
		return fmt.Errorf("bundle: %s: %w", doing, err)
	case rows == 0:
		return none
	}
	return nil
}

func scan(row *sql.Row, doing string) (b Bundle, err error) {
	var created, expires int64
	err = row.Scan(&b.ID, &b.TenantID, &b.Tier, &b.Requests, &b.Remaining, &created, &expires)
	if errors.Is(err, sql.ErrNoRows) {
		return Bundle{}, ErrNotFound
	}
	if err != nil {
		return Bundle{}, fmt.Errorf("bundle: %s: %w", doing, err)
	}
	b.CreatedAt, b.ExpiresAt = time.UnixMilli(created), time.UnixMilli(expires)
	return b, nil
}

var _ Store = (*SQL)(nil)
