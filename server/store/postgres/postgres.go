// Package postgres implements [store.Store] in PostgreSQL, for many service instances
// on one database.
//
//	store, err := postgres.Open(ctx, "postgres://pay@db.example/pay")
//	defer store.Close()
//
// A batch of commands takes two round trips: one locks the rows that the commands name, in
// the order of their keys, and one writes. The store retries transactions that the database
// ends because of a conflict or a restart.
//
// The tables are in the first schema of the connection's search_path. There is no sequence,
// trigger or LISTEN. The mandates of a merchant share one row, the end of its stream of
// events, which is locked last. docs/design/scaling.md describes the effect on distributed
// engines.
package postgres

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/paywarrant/paywarrant/internal/pgpool"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore"
)

// engine compares ids by their bytes, whatever the language of the database. Migrations that
// move rows to another table lock both: a row of another instance that is not committed
// would be lost.
var engine = sqlstore.Engine{
	Dialect: goose.DialectPostgres, Rewrite: strings.NewReplacer(" TEXT ", ` TEXT COLLATE "C" `, "/* LOCK", "LOCK", "MODE; */", "MODE;"), Failure: failure,
	Now:      `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`,
	Snapshot: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
}

// Config configures a [Store].
type Config struct {
	// URL of the database, or a libpq connection string. Required.
	URL string
	// Readers limits the connections that read. Default: 8.
	Readers int
	// Writers is the number of concurrent commits of this instance; each has its own
	// connection. Default: 2.
	Writers int
	// SkipMigrations leaves the schema as it is; Open then returns [ErrOldSchema] if
	// migrations are missing. Default: Open brings the schema up to date.
	SkipMigrations bool
	// SidecarFolder is the folder of the files that a sandbox stores beside the database.
	// It must exist. Instances on one machine that share a database share these files.
	// Default: the folder for temporary files.
	SidecarFolder string
}

// ErrOldSchema reports that migrations are missing and [Config.SkipMigrations] is set.
var ErrOldSchema = sqlstore.ErrOldSchema

func (c *Config) validate() error {
	switch {
	case c.URL == "":
		return errors.New("postgres: URL is required")
	case c.Readers < 0 || c.Readers > 1000:
		return errors.New("postgres: Readers must be 0 to 1000")
	case c.Writers < 0 || c.Writers > 64:
		return errors.New("postgres: Writers must be 0 to 64")
	}
	if c.Readers == 0 {
		c.Readers = 8
	}
	if c.Writers == 0 {
		c.Writers = 2
	}
	if c.SidecarFolder == "" {
		c.SidecarFolder = os.TempDir()
	}
	return nil
}

// Store is a [store.Store] in a PostgreSQL database.
type Store struct {
	*sqlstore.Store

	pool    *pgxpool.Pool
	writers int
	sidecar string // prefix of the paths of files beside it
}

var _ store.Store = (*Store)(nil)

// Open connects to the database at url and brings its schema up to date. The returned error
// names the invalid part of url, or reports that connecting or migrating failed.
func Open(ctx context.Context, url string) (*Store, error) {
	return OpenConfig(ctx, Config{URL: url})
}

// OpenConfig is [Open] with more options. It also returns [ErrOldSchema].
func OpenConfig(ctx context.Context, cfg Config) (*Store, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	pools, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("postgres: URL: %w", err)
	}
	pgpool.Configure(pools.ConnConfig)
	pools.AfterConnect = writer
	pools.MaxConns = int32(cfg.Writers) // at most 64
	pools.MinIdleConns = 1
	pools.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false } // a dead one is noticed, and Update runs again
	read := stdlib.OpenDB(*pools.ConnConfig, stdlib.OptionAfterConnect(pgpool.Durable))
	read.SetMaxOpenConns(cfg.Readers)
	read.SetMaxIdleConns(cfg.Readers)
	if err := prepare(ctx, read, cfg.SkipMigrations); err != nil {
		return nil, errors.Join(fmt.Errorf("postgres: %w", err), read.Close())
	}
	pool, err := pgxpool.NewWithConfig(ctx, pools)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("postgres: connect: %w", err), read.Close())
	}
	sum := sha256.Sum256([]byte(fmt.Sprintln(pools.ConnConfig.Host, pools.ConnConfig.Port, pools.ConnConfig.Database,
		pools.ConnConfig.RuntimeParams["search_path"])))
	sidecar := filepath.Join(cfg.SidecarFolder, "paywarrant-"+hex.EncodeToString(sum[:8])+"-")
	return &Store{Store: sqlstore.New(engine, read, read), pool: pool, writers: cfg.Writers, sidecar: sidecar}, nil
}

// writer prepares a connection that writes. Its statements find rows by their keys, so it
// forbids the plans that read whole tables: the planner would choose them while its
// statistics of a growing table are old. It skips settings that the database does not have.
func writer(ctx context.Context, conn *pgx.Conn) error {
	if err := pgpool.Durable(ctx, conn); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, `SELECT set_config(name, 'off', false) FROM pg_settings
		WHERE name IN ('enable_seqscan', 'enable_hashjoin', 'enable_mergejoin')`)
	if err != nil {
		return fmt.Errorf("set plan: %w", err)
	}
	return nil
}

// prepare brings the schema up to date, or checks that it is. If several instances start at
// once, one migrates and the others wait.
func prepare(ctx context.Context, db *sql.DB, skip bool) error {
	if skip {
		return sqlstore.CheckSchema(ctx, engine, db)
	}
	if sqlstore.CheckSchema(ctx, engine, db) == nil {
		return nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer conn.Close() // returns it to the pool
	var schema string
	if err := conn.QueryRowContext(ctx, "SELECT COALESCE(current_schema(), '')").Scan(&schema); err != nil {
		return fmt.Errorf("find schema: %w", err)
	}
	sum := sha256.Sum256([]byte("paywarrant migrations of " + schema))
	lock := int64(binary.BigEndian.Uint64(sum[:])) // any number will do
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", lock); err != nil {
		return fmt.Errorf("wait for other migrations: %w", err)
	}
	err = sqlstore.Migrate(ctx, engine, db)
	if _, e := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", lock); e != nil {
		err = errors.Join(err, fmt.Errorf("end migrations: %w", e))
	}
	return err
}

// Writers implements ledger.Store.
func (s *Store) Writers() int { return s.writers }

// SidecarPath returns the path of a file in the folder for sidecars. Its name differs for
// each database and schema.
func (s *Store) SidecarPath(name string) string { return s.sidecar + name }

// Close implements ledger.Store.
func (s *Store) Close() error {
	s.pool.Close()
	return s.Store.Close()
}
