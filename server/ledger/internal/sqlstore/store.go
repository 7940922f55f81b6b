// Package sqlstore is what the SQL stores have in common: the schema, the
// queries, and the rows' stored form. An engine's own package opens the
// database, and adds what differs.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"

	"github.com/paywarrant/paywarrant/server/ledger/internal/sqlstore/db"
)

// Engine is what differs between the databases.
type Engine struct {
	Dialect goose.Dialect
	// Text replaces " TEXT " in the migrations; empty: nothing does. Ids must be
	// compared by their bytes, whatever the language of a database.
	Text string
	// Unprepared: the driver itself keeps prepared statements.
	Unprepared bool
	// Failure wraps an error of the database in the ledger's that it means.
	Failure func(error) error
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

// New prepares the queries on pools whose schema is up to date. The store owns
// the pools from then on, and closes them where it fails.
func New(ctx context.Context, engine Engine, write, read *sql.DB) (*Store, error) {
	s := &Store{engine: engine, write: write, read: read}
	if engine.Unprepared {
		s.writeQ, s.readQ = db.New(write), db.New(read)
		return s, nil
	}
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

// fail says what was being done, and which of the ledger's errors it means.
func (s *Store) fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, s.engine.Failure(err))
}
