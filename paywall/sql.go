package paywall

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// SQLSchema is what [SQL] needs, a statement each, for SQLite and for databases
// that speak PostgreSQL's language.
func SQLSchema() []string {
	return []string{
		`CREATE TABLE IF NOT EXISTS paywall_redemptions (
	id TEXT PRIMARY KEY,
	binding TEXT NOT NULL,
	state BIGINT NOT NULL CHECK (state BETWEEN 1 AND 4),
	owner TEXT NOT NULL,
	lease_until BIGINT NOT NULL,
	forget_after BIGINT NOT NULL,
	payment TEXT NOT NULL
)`,
		`CREATE INDEX IF NOT EXISTS paywall_redemptions_forget ON paywall_redemptions (forget_after)`,
	}
}

// The states of a row. A claim that was given up without an end is rowTried: its
// settlement may have been made.
const (
	rowNew = iota + 1
	rowTried
	rowPaid
	rowServed
)

// DefaultLease is the default of [SQLConfig.Lease].
const DefaultLease = 15 * time.Minute

// SQLConfig says where redemptions are kept.
type SQLConfig struct {
	// DB is a database whose driver understands $1 and RETURNING. Required.
	DB *sql.DB
	// Lease is how long another instance leaves a claim to the one that has it,
	// which may have ended. It must be longer than the longest answer of a handler:
	// afterwards the same credential may be served by another instance once more.
	// Default: [DefaultLease].
	Lease time.Duration
	// Clock tells the time; those of the instances must agree well within a lease.
	// Default: the system's.
	Clock Clock
}

// SQL keeps redemptions in a database, where several instances share them, and
// where they outlive a process. A claim whose instance is gone is taken over when
// its lease is over: as [Paid] where the payment was noted, else as [Retried].
// Safe for concurrent use.
type SQL struct {
	db    *sql.DB
	lease time.Duration
	clock Clock

	mu    sync.Mutex
	held  map[string]string // the claims of this instance: row id to owner
	swept time.Time
}

// NewSQL makes no call; [SQL.Migrate] makes the table. An error where the
// configuration is wrong.
func NewSQL(c SQLConfig) (*SQL, error) {
	s := &SQL{db: c.DB, lease: c.Lease, clock: c.Clock, held: map[string]string{}}
	if s.db == nil {
		return nil, field("SQLConfig.DB", errors.New("is required"))
	}
	if s.lease == 0 {
		s.lease = DefaultLease
	}
	if s.lease < 0 {
		return nil, field("SQLConfig.Lease", errors.New("is negative"))
	}
	if s.clock == nil {
		s.clock = systemClock{}
	}
	return s, nil
}

// migrateTries: of instances that make a table at the same moment PostgreSQL lets one
// do it and fails the others, which find it there when they try again.
const migrateTries = 3

// Migrate makes the table where there is none. Errors of the database.
func (s *SQL) Migrate(ctx context.Context) (err error) {
	for range migrateTries {
		if err = s.migrate(ctx); err == nil {
			return nil
		}
	}
	return fmt.Errorf("paywall: migrate redemptions: %w", err)
}

func (s *SQL) migrate(ctx context.Context) error {
	for _, statement := range SQLSchema() {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Settled implements [Redemptions]. An error of the database, or where the key is
// not claimed by this instance, or not any more.
func (s *SQL) Settled(ctx context.Context, key string, p Payment) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("paywall: note settlement: %w", err)
	}
	return s.change(ctx, key, "note settlement", "UPDATE paywall_redemptions SET state = 3, payment = $1 WHERE id = $2 AND owner = $3", string(text))
}

// Finish implements [Redemptions]. Errors as [SQL.Settled].
func (s *SQL) Finish(ctx context.Context, key string, end End) error {
	defer s.release(hashText(key))
	const doing = "finish redemption"
	switch end {
	case Refused:
		return s.change(ctx, key, doing, "DELETE FROM paywall_redemptions WHERE id = $1 AND owner = $2")
	case Served:
		return s.change(ctx, key, doing, "UPDATE paywall_redemptions SET state = 4, owner = '', payment = '' WHERE id = $1 AND owner = $2")
	case Undecided, Unserved:
	}
	return s.change(ctx, key, doing, "UPDATE paywall_redemptions SET state = CASE WHEN state = 3 THEN 3 ELSE 2 END, owner = '' WHERE id = $1 AND owner = $2")
}

// change runs a statement on the row of a claim that this instance has. Row and
// owner come after the statement's own arguments.
func (s *SQL) change(ctx context.Context, key, doing, statement string, args ...any) error {
	id := hashText(key)
	s.mu.Lock()
	owner, held := s.held[id]
	s.mu.Unlock()
	if !held {
		return fmt.Errorf("paywall: %s of %s: not claimed", doing, key)
	}
	done, err := s.db.ExecContext(ctx, statement, append(args, id, owner)...)
	var rows int64
	if err == nil {
		rows, err = done.RowsAffected()
	}
	if err == nil && rows == 0 {
		err = errors.New("another instance has taken it over")
	}
	if err != nil {
		return fmt.Errorf("paywall: %s of %s: %w", doing, key, err)
	}
	return nil
}

func hashText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

var _ Redemptions = (*SQL)(nil)
