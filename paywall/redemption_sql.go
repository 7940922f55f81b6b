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

// SQLSchema returns the statements that create the tables and the index of [SQL], on SQLite and
// on databases that speak PostgreSQL's dialect.
func SQLSchema() []string {
	return []string{
		`CREATE TABLE IF NOT EXISTS paywall_redemptions (
	id TEXT PRIMARY KEY,
	binding TEXT NOT NULL,
	state BIGINT NOT NULL CHECK (state BETWEEN 1 AND 4),
	owner TEXT NOT NULL,
	lease_until BIGINT NOT NULL,
	forget_after BIGINT NOT NULL,
	payment TEXT NOT NULL,
	slot TEXT NOT NULL DEFAULT '',
	repeat_key TEXT NOT NULL DEFAULT '',
	resumes BIGINT NOT NULL DEFAULT 1
)`,
		`CREATE INDEX IF NOT EXISTS paywall_redemptions_forget ON paywall_redemptions (forget_after)`,
		`CREATE INDEX IF NOT EXISTS paywall_redemptions_slot ON paywall_redemptions (slot) WHERE slot <> '' AND state < 4 AND resumes = 1`,
		`CREATE TABLE IF NOT EXISTS paywall_redemptions_scope (
	id BIGINT PRIMARY KEY CHECK (id = 1),
	scope TEXT NOT NULL
)`,
	}
}

// The states of a row. The state of a claim that did not end is rowTried, because its
// settlement may have been made.
const (
	rowNew = iota + 1
	rowTried
	rowPaid
	rowServed
)

// DefaultLease is the default of [SQLConfig.Lease].
const DefaultLease = 15 * time.Minute

// SQLConfig configures an [SQL].
type SQLConfig struct {
	// DB is the database. Its driver must support $1 and RETURNING. Required.
	DB *sql.DB
	// Lease is how long a claim stays with an instance that does not renew it, because the
	// instance ended. Gates renew their claims three times per lease while a handler runs.
	// Default: [DefaultLease].
	Lease time.Duration
	// Clock returns the current time. The clocks of the instances must differ by less than
	// a lease. Default: time.Now.
	Clock func() time.Time
}

// SQL keeps redemptions in a database, which several instances can share and which survives
// restarts. When the lease of a claim expires, another instance can take the claim over: as
// [ClaimPaid] if the payment was recorded, otherwise as [ClaimUndecided]. It is safe for
// concurrent use.
type SQL struct {
	db    *sql.DB
	lease time.Duration
	clock func() time.Time

	mu    sync.Mutex
	held  map[string]heldRow // the claims of this instance, by row id
	swept time.Time
	scope string // "" until it is read
}

// heldRow is a claim of this instance.
type heldRow struct {
	owner string
	until time.Time // when a served claim can be forgotten
}

// NewSQL returns an SQL. It performs no I/O: [SQL.Migrate] creates the tables. The
// returned error names the invalid field.
func NewSQL(c SQLConfig) (*SQL, error) {
	s := &SQL{db: c.DB, lease: c.Lease, clock: c.Clock, held: map[string]heldRow{}}
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
		s.clock = time.Now
	}
	return s, nil
}

// migrateTries is the number of attempts to create a table or index. If several instances
// create it concurrently, PostgreSQL fails all but one, and the others succeed when they try
// again.
const migrateTries = 3

// Migrate creates the tables that do not exist, and adds the columns that earlier versions did
// not have. It returns errors of the database.
func (s *SQL) Migrate(ctx context.Context) error {
	if s.lacksSlots(ctx) {
		for _, column := range []string{"slot TEXT NOT NULL DEFAULT ''", "repeat_key TEXT NOT NULL DEFAULT ''", "resumes BIGINT NOT NULL DEFAULT 1"} {
			// Fails if another instance was faster. The index that follows needs the columns.
			_, _ = s.db.ExecContext(ctx, "ALTER TABLE paywall_redemptions ADD COLUMN "+column)
		}
	}
	for _, statement := range SQLSchema() {
		if err := s.migrate(ctx, statement); err != nil {
			return fmt.Errorf("paywall: migrate redemptions: %w", err)
		}
	}
	return nil
}

// lacksSlots reports whether the table exists and lacks the columns for [Claim.Slot].
func (s *SQL) lacksSlots(ctx context.Context) bool {
	var n int
	if s.db.QueryRowContext(ctx, "SELECT count(*) FROM paywall_redemptions WHERE id = ''").Scan(&n) != nil {
		return false // there is no table; any other error, Migrate meets again
	}
	return s.db.QueryRowContext(ctx, "SELECT count(*) FROM paywall_redemptions WHERE id = '' AND resumes = 1").Scan(&n) != nil
}

func (s *SQL) migrate(ctx context.Context, statement string) (err error) {
	for range migrateTries {
		if _, err = s.db.ExecContext(ctx, statement); err == nil {
			return nil
		}
	}
	return err
}

// Settled implements [Redemptions]. It returns errors of the database, and an error if this
// instance no longer holds the claim.
func (s *SQL) Settled(ctx context.Context, key string, p Payment) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("paywall: record settlement: %w", err)
	}
	return s.change(ctx, key, "record settlement", `UPDATE paywall_redemptions SET state = 3, payment = $1, forget_after = `+honorSQL+`, resumes = $3
WHERE id = $4 AND owner = $5`, string(text), p.honoredUntil(s.clock()).UnixMilli(), map[bool]int{true: 1}[p.resumes()])
}

// honorSQL keeps a row until the statement's second argument.
const honorSQL = `CASE WHEN forget_after < $2 THEN $2 ELSE forget_after END`

func (s *SQL) honored() int64 { return s.clock().Add(HonoredFor).UnixMilli() }

// Finish implements [Redemptions]. Its errors are those of [SQL.Settled].
func (s *SQL) Finish(ctx context.Context, key string, end End) error {
	id := hashText(key)
	row := s.row(id)
	defer s.release(id)
	const doing = "finish redemption"
	switch end {
	case EndRefused:
		return s.change(ctx, key, doing, "DELETE FROM paywall_redemptions WHERE id = $1 AND owner = $2")
	case EndServed:
		return s.change(ctx, key, doing, "UPDATE paywall_redemptions SET state = 4, owner = '', payment = '', forget_after = $1 WHERE id = $2 AND owner = $3",
			row.until.UnixMilli())
	case EndUndecided, EndUnserved:
	}
	return s.change(ctx, key, doing, `UPDATE paywall_redemptions SET state = CASE WHEN state = 3 THEN 3 ELSE 2 END, owner = $1, forget_after = `+honorSQL+`
WHERE id = $3 AND owner = $4`, "", s.honored())
}

// Renew implements [Renewer]. Its errors are those of [SQL.Settled].
func (s *SQL) Renew(ctx context.Context, key string) error {
	return s.change(ctx, key, "renew redemption", "UPDATE paywall_redemptions SET lease_until = $1 WHERE id = $2 AND owner = $3",
		s.clock().Add(s.lease).UnixMilli())
}

// RenewEvery implements [Renewer]: a third of the lease.
func (s *SQL) RenewEvery() time.Duration { return max(s.lease/3, time.Millisecond) }

// row returns a claim of this instance. Its owner is empty if there is none.
func (s *SQL) row(id string) heldRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[id]
}

// change runs a statement on the row of a claim that this instance holds. The last two
// arguments of the statement are the row's id and owner.
func (s *SQL) change(ctx context.Context, key, doing, statement string, args ...any) error {
	id := hashText(key)
	row := s.row(id)
	if row.owner == "" {
		return fmt.Errorf("paywall: %s of %s: not claimed", doing, key)
	}
	done, err := s.db.ExecContext(ctx, statement, append(args, id, row.owner)...)
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

var _ Renewer = (*SQL)(nil)
