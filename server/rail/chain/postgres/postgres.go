// Package postgres keeps the chain rail's records in PostgreSQL, in the ledger's
// database or another one, for several service instances on one relayer:
//
//	store, err := postgres.Open(ctx, "postgres://pay@db.example/pay")
//	rail, err := chain.New(chain.Config{Store: store, …})
//
// Updates are serial over all instances: each locks one row first, so a nonce of the
// relayer is assigned once. An instance that dies loses the lock with its connection,
// and one that stops responding loses it after ten seconds; the database rolls its
// update back.
//
// The table, chain_records, is in the first schema of the connection's search_path.
// Destroyed session keys are gone once the database has vacuumed the table and deleted
// its write-ahead log.
package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/paywarrant/paywarrant/internal/pgpool"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// schema creates the table, and the row that updates lock. The row's value is the
// schema's version.
const schema = `CREATE TABLE IF NOT EXISTS chain_records (
  kind  TEXT COLLATE "C" NOT NULL,
  key   TEXT COLLATE "C" NOT NULL,
  value BYTEA NOT NULL,
  PRIMARY KEY (kind, key)
);
INSERT INTO chain_records (kind, key, value) VALUES ('lock', '', '1') ON CONFLICT (kind, key) DO NOTHING`

const schemaVersion = "1"

// ErrNoRecords reports a database without the table, if Config.MustExist is set.
var ErrNoRecords = errors.New("postgres: there are no records of a chain rail")

// errLocked reports that the row that updates lock is missing.
var errLocked = errors.New("postgres: the records' lock is missing")

// Config configures a [Store].
type Config struct {
	// URL is the database's URL, or a libpq connection string. Required.
	URL string
	// Connections bounds the pool, at most 1,000. Default: 8.
	Connections int
	// MustExist makes Open return [ErrNoRecords] if there is no table. Default: Open
	// creates the table.
	MustExist bool
}

func (c *Config) validate() error {
	switch {
	case c.URL == "":
		return errors.New("postgres: URL is required")
	case c.Connections < 0 || c.Connections > 1000:
		return errors.New("postgres: Connections must be 0 to 1000")
	}
	if c.Connections == 0 {
		c.Connections = 8
	}
	return nil
}

// Store is a table in a database.
type Store struct {
	pool    *pgxpool.Pool
	writing chan struct{} // holds one if no update of this instance runs
}

var _ records.Store = (*Store)(nil)

// Open connects to the database at url, and creates the table if there is none. The
// returned error names the invalid part of the URL, or is a failure to connect.
func Open(ctx context.Context, url string) (*Store, error) {
	return OpenConfig(ctx, Config{URL: url})
}

// OpenConfig is [Open] with a configuration. It returns [ErrNoRecords] if the table must
// exist and does not.
func OpenConfig(ctx context.Context, cfg Config) (*Store, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	pools, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("postgres: URL: %w", err)
	}
	pgpool.Configure(pools.ConnConfig)
	pools.AfterConnect = pgpool.Durable
	pools.MaxConns = int32(cfg.Connections) // at most 1000
	pool, err := pgxpool.NewWithConfig(ctx, pools)
	if err != nil {
		return nil, fmt.Errorf("postgres: connect: %w", err)
	}
	s := &Store{pool: pool, writing: make(chan struct{}, 1)}
	s.writing <- struct{}{}
	if err := s.prepare(ctx, cfg.MustExist); err != nil {
		pool.Close()
		return nil, fmt.Errorf("postgres: %w", err)
	}
	return s, nil
}

// prepare creates the table if there is none. If several instances start at once, one
// creates it and the others wait.
func (s *Store) prepare(ctx context.Context, mustExist bool) error {
	if there, err := s.exists(ctx); err != nil || there {
		return err
	}
	if mustExist {
		return ErrNoRecords
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var schemaName string
		if err := tx.QueryRow(ctx, "SELECT COALESCE(current_schema(), '')").Scan(&schemaName); err != nil {
			return fmt.Errorf("find schema: %w", err)
		}
		sum := sha256.Sum256([]byte("paywarrant chain records of " + schemaName))
		lock := int64(binary.BigEndian.Uint64(sum[:])) // any number works
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", lock); err != nil {
			return fmt.Errorf("wait for other instances: %w", err)
		}
		if _, err := tx.Exec(ctx, schema); err != nil {
			return fmt.Errorf("apply schema: %w", err)
		}
		return nil
	})
}

func (s *Store) exists(ctx context.Context) (there bool, err error) {
	err = s.pool.QueryRow(ctx, "SELECT to_regclass('chain_records') IS NOT NULL").Scan(&there)
	if err != nil {
		return false, fmt.Errorf("find table: %w", err)
	}
	return there, nil
}

// Close implements [records.Store].
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}
