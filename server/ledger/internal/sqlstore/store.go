// Package sqlstore is what the SQL stores have in common: the schema, the
// queries, and the rows' stored form. An engine's own package opens the
// database, and adds what differs.
package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/paywarrant/paywarrant/server/ledger/internal/sqlstore/db"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Engine is what differs between the databases.
type Engine struct {
	Dialect goose.Dialect
	// IsConflict tells whether an error means that a row to insert exists.
	IsConflict func(error) bool
	// Snapshot opens a transaction that reads from one snapshot.
	Snapshot *sql.TxOptions
}

// Store is a [ledger.Store] on a writing and a reading pool, which may be one.
type Store struct {
	engine Engine
	write  *sql.DB
	read   *sql.DB
	// Queries prepared on each pool.
	writeQ *db.Queries
	readQ  *db.Queries
}

// Migrate brings the schema up to date.
func Migrate(ctx context.Context, engine Engine, pool *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	p, err := goose.NewProvider(engine.Dialect, pool, files)
	if err != nil {
		return fmt.Errorf("prepare migrations: %w", err)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// New prepares the queries on pools whose schema is up to date. The store owns
// the pools from then on, and closes them where it fails.
func New(ctx context.Context, engine Engine, write, read *sql.DB) (*Store, error) {
	s := &Store{engine: engine, write: write, read: read}
	var err error
	if s.writeQ, err = db.Prepare(ctx, write); err == nil {
		s.readQ, err = db.Prepare(ctx, read)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare queries: %w", err), s.Close())
	}
	return s, nil
}

// Close implements [ledger.Store].
func (s *Store) Close() error {
	var err error
	for _, q := range []*db.Queries{s.writeQ, s.readQ} {
		if q != nil {
			err = errors.Join(err, q.Close())
		}
	}
	err = errors.Join(err, s.read.Close())
	if s.write != s.read {
		err = errors.Join(err, s.write.Close())
	}
	return err
}
