package journal

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/agent"
)

// SQLSchema returns the statements that create the tables and indexes of [SQL], on SQLite
// and on databases that speak PostgreSQL's dialect.
func SQLSchema() []string {
	return []string{
		`CREATE TABLE IF NOT EXISTS agent_spending (
	agent TEXT PRIMARY KEY,
	total_micros BIGINT NOT NULL CHECK (total_micros >= 0)
)`,
		`CREATE TABLE IF NOT EXISTS agent_purchases (
	id TEXT PRIMARY KEY,
	agent TEXT NOT NULL,
	purchase_key TEXT,
	request TEXT NOT NULL,
	state TEXT NOT NULL,
	amount_micros BIGINT NOT NULL CHECK (amount_micros >= 0),
	begun_at BIGINT NOT NULL,
	good_until BIGINT NOT NULL,
	forget_after BIGINT NOT NULL,
	instance TEXT NOT NULL,
	owner TEXT NOT NULL,
	lease_until BIGINT NOT NULL,
	entry TEXT NOT NULL
)`,
		`CREATE UNIQUE INDEX IF NOT EXISTS agent_purchases_key ON agent_purchases (agent, purchase_key)`,
		`CREATE INDEX IF NOT EXISTS agent_purchases_request ON agent_purchases (agent, request)`,
		`CREATE INDEX IF NOT EXISTS agent_purchases_begun ON agent_purchases (agent, begun_at)`,
	}
}

// DefaultLease is the default of [SQLConfig.Lease].
const DefaultLease = 15 * time.Minute

// SQLConfig configures an [SQL].
type SQLConfig struct {
	// DB is the database. Its driver must support $1 and RETURNING. Required.
	DB *sql.DB
	// Agent names the budget: the processes with one name share limits and purchase keys.
	// Required.
	Agent string
	// Instance names this process among those of the agent. A process that starts with the
	// name of one that ended takes over its purchases at once; two that run at the same
	// time must not have the same name. Default: none; purchases are taken over when their
	// lease expires.
	Instance string
	// Lease is how long a purchase stays with a process that ended. A purchase that takes
	// longer, because it waits for an approval or streams, can be taken over: if nothing was
	// sent yet, it then fails unpaid. Default: [DefaultLease].
	Lease time.Duration
	// Clock returns the current time. The clocks of the processes must differ by less than a
	// lease. Default: time.Now.
	Clock func() time.Time
}

// SQL is a journal in a database, which several processes can share. It is safe for
// concurrent use.
type SQL struct {
	db              *sql.DB
	agent, instance string
	owner           string // of this process
	lease           time.Duration
	clock           func() time.Time
}

// NewSQL returns an SQL. It performs no I/O: [SQL.Migrate] creates the tables. The returned
// error names the invalid field.
func NewSQL(c SQLConfig) (*SQL, error) {
	switch {
	case c.DB == nil:
		return nil, errors.New("journal: SQLConfig.DB: is required")
	case c.Agent == "":
		return nil, errors.New("journal: SQLConfig.Agent: is required")
	case c.Lease < 0:
		return nil, errors.New("journal: SQLConfig.Lease: is negative")
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the program instead
	s := &SQL{db: c.DB, agent: c.Agent, instance: c.Instance, owner: hex.EncodeToString(id[:]), lease: c.Lease, clock: c.Clock}
	if s.lease == 0 {
		s.lease = DefaultLease
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	return s, nil
}

// migrateTries is the number of attempts to create the tables. If several processes create
// them concurrently, PostgreSQL fails all but one, and the others succeed when they try again.
const migrateTries = 3

// Migrate creates the tables unless they exist. It returns errors of the database.
func (s *SQL) Migrate(ctx context.Context) (err error) {
	for range migrateTries {
		for _, statement := range SQLSchema() {
			if _, err = s.db.ExecContext(ctx, statement); err != nil {
				break
			}
		}
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("journal: migrate: %w", err)
}

// freeSQL matches the rows that this process may hold. Its arguments are the owner, the
// instance and the time.
const freeSQL = `(owner = '' OR (owner <> $1 AND (lease_until < $3 OR (instance = $2 AND $2 <> ''))))`

// Find implements [agent.Journal]. It returns errors of the database.
func (s *SQL) Find(ctx context.Context, key, request string, now time.Time) (*agent.JournalEntry, error) {
	clock := s.clock()
	args := []any{s.owner, s.instance, clock.UnixMilli(), clock.Add(s.lease).UnixMilli(), s.agent}
	const hold = `UPDATE agent_purchases SET owner = $1, instance = $2, lease_until = $4 WHERE ` + freeSQL + ` AND agent = $5 AND `
	var row *sql.Row
	if key != "" {
		row = s.db.QueryRowContext(ctx, hold+`purchase_key = $6 RETURNING entry`, append(args, key)...)
	} else {
		row = s.db.QueryRowContext(ctx, hold+`id = (SELECT id FROM agent_purchases WHERE `+freeSQL+` AND agent = $5 AND request = $6
	AND purchase_key IS NULL AND state IN ('funding', 'sent', 'answered', 'paid', 'lost') AND good_until > $7 ORDER BY begun_at LIMIT 1) RETURNING entry`,
			append(args, request, now.UnixMilli())...)
	}
	e, err := readEntry(row)
	switch {
	case errors.Is(err, sql.ErrNoRows) && key != "":
		return nil, s.busy(ctx, key)
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("journal: find a purchase: %w", err)
	case e.State == agent.PurchaseBegun: // its process ended before it was sent
		return nil, s.Forget(ctx, e.ID)
	}
	return &e, nil
}

// busy returns [agent.ErrPurchaseBusy] if a key has a purchase, which another one holds.
func (s *SQL) busy(ctx context.Context, key string) error {
	var n int64
	err := s.db.QueryRowContext(ctx, "SELECT count(*) FROM agent_purchases WHERE agent = $1 AND purchase_key = $2", s.agent, key).Scan(&n)
	switch {
	case err != nil:
		return fmt.Errorf("journal: find a purchase: %w", err)
	case n > 0:
		return agent.ErrPurchaseBusy
	}
	return nil
}

// Record implements [agent.Journal]. It returns errors of the database, and an error if
// this process no longer holds the purchase.
func (s *SQL) Record(ctx context.Context, e agent.JournalEntry, release bool) error {
	text, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("journal: record %s: %w", e.ID, err)
	}
	owner := s.owner
	if release {
		owner = ""
	}
	done, err := s.db.ExecContext(ctx, `UPDATE agent_purchases SET state = $1, purchase_key = $2, good_until = $3, entry = $4, owner = $5
WHERE id = $6 AND owner = $7`, string(e.State), nullable(e.Key), e.Until.UnixMilli(), string(text), owner, e.ID, s.owner)
	if err == nil {
		err = one(done)
	}
	if err != nil {
		return fmt.Errorf("journal: record %s: %w", e.ID, err)
	}
	return nil
}

// Unfinished implements [agent.Journal]. It returns errors of the database.
func (s *SQL) Unfinished(ctx context.Context) (all []agent.JournalEntry, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT entry FROM agent_purchases WHERE `+freeSQL+` AND agent = $4
	AND state IN ('funding', 'sent', 'answered', 'paid', 'lost') ORDER BY begun_at, id`, s.owner, s.instance, s.clock().UnixMilli(), s.agent)
	if err != nil {
		return nil, fmt.Errorf("journal: list purchases: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		e, err := readEntry(rows)
		if err != nil {
			return nil, fmt.Errorf("journal: list purchases: %w", err)
		}
		all = append(all, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("journal: list purchases: %w", err)
	}
	return all, nil
}

func readEntry(row interface{ Scan(into ...any) error }) (e agent.JournalEntry, err error) {
	var text string
	if err := row.Scan(&text); err != nil {
		return e, err
	}
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		return e, errors.New("a purchase is malformed") // without its text, which is secret
	}
	return e, nil
}

// one returns an error unless a statement changed a row.
func one(done sql.Result) error {
	n, err := done.RowsAffected()
	if err == nil && n == 0 {
		err = errNotHeld
	}
	return err
}

func nullable(s string) sql.NullString { return sql.NullString{String: s, Valid: s != ""} }

var _ agent.Journal = (*SQL)(nil)
