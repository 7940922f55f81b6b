// Package postgres keeps the chain rail's records in PostgreSQL, in the ledger's
// database or another one, for several service instances on one relayer:
//
//	store, err := postgres.Open(ctx, "postgres://pay@db.example/pay")
//	rail, err := chain.New(chain.Config{Store: store, …})
//
// Updates are serial over all instances: each locks one row first, so that a nonce of
// the relayer is given out once, and a broadcast is stored before it is sent,
// whichever instance does it. One that dies loses its lock with its connection, one
// that stands still after ten seconds; what it had begun is undone then.
//
// The table, chain_records, lies in the schema that the connection's search_path
// names first. Sealed keys that were destroyed are gone once the database has
// vacuumed it and its write-ahead log is deleted.
package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/paywarrant/paywarrant/internal/pgdb"
	"github.com/paywarrant/paywarrant/server/rail/chain"
)

// schema makes the table, and the row that updates lock. Its value is the schema's
// version.
const schema = `CREATE TABLE IF NOT EXISTS chain_records (
  kind  TEXT COLLATE "C" NOT NULL,
  key   TEXT COLLATE "C" NOT NULL,
  value BYTEA NOT NULL,
  PRIMARY KEY (kind, key)
);
INSERT INTO chain_records (kind, key, value) VALUES ('lock', '', '1') ON CONFLICT (kind, key) DO NOTHING`

const schemaVersion = "1"

// ErrNoRecords: there are none in the database, and none were to be made.
var ErrNoRecords = errors.New("postgres: there are no records of a chain rail")

// errLocked: the row that updates lock is gone.
var errLocked = errors.New("postgres: the records' lock is missing")

// Config configures a [Store].
type Config struct {
	// URL of the database, or a libpq connection string. Required.
	URL string
	// Connections is how many there are at most. Default: 8.
	Connections int
	// MustExist has Open return [ErrNoRecords] where there is no table. Default: it
	// makes one.
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
	writing chan struct{} // holds one where no update of this instance runs
}

var _ chain.Store = (*Store)(nil)

// Open connects to the database at url, and makes the table where there is none. An
// error names the part of the configuration that is wrong, or is a failure to connect.
func Open(ctx context.Context, url string) (*Store, error) {
	return OpenConfig(ctx, Config{URL: url})
}

// OpenConfig is [Open] with more to say. It returns [ErrNoRecords] where there must
// be records and are none.
func OpenConfig(ctx context.Context, cfg Config) (*Store, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	pools, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("postgres: URL: %w", err)
	}
	pgdb.Configure(pools.ConnConfig)
	pools.AfterConnect = pgdb.Durable
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

// prepare finds the table, or makes it: of several instances that start at once one
// does, and the others wait.
func (s *Store) prepare(ctx context.Context, mustExist bool) error {
	if there, err := s.exists(ctx); err != nil || there {
		return err
	}
	if mustExist {
		return ErrNoRecords
	}
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var place string
		if err := tx.QueryRow(ctx, "SELECT COALESCE(current_schema(), '')").Scan(&place); err != nil {
			return fmt.Errorf("find schema: %w", err)
		}
		sum := sha256.Sum256([]byte("paywarrant chain records of " + place))
		lock := int64(binary.BigEndian.Uint64(sum[:])) // any number will do
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

// Close implements [chain.Store]. It may be called twice.
func (s *Store) Close() error {
	s.pool.Close()
	return nil
}
