// Package sqlstore holds the common part of the SQL stores: the schema, the queries, and the
// stored form of rows. An engine's own package opens the database and adds the differences.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Engine describes the differences between the databases.
type Engine struct {
	Dialect goose.Dialect
	// Rewrite translates the migrations for the engine. Default: unchanged.
	Rewrite *strings.Replacer
	// Failure maps an error of the database to one of the ledger's, and wraps it.
	Failure func(error) error
	// Lazy and Durable are the statements after which commits of the single writer do not
	// wait for the disk, and wait again.
	Lazy, Durable string
	// OneProcess reports that the database belongs to one process at a time.
	OneProcess bool
	// Now selects the database's time in unix milliseconds. Default: this machine's time.
	Now string
	// Snapshot opens a transaction that reads from one snapshot.
	Snapshot *sql.TxOptions
}

// Store is a [store.Store] on a writing and a reading pool, which may be one.
type Store struct {
	engine Engine
	write  *sql.DB
	read   *sql.DB
	// Queries prepared for writing and reading.
	writeQ *db.Queries
	readQ  *db.Queries
	// lists are bulk statements that read, prepared on the reading pool.
	lists map[string]*sql.Stmt
	// writer is the only connection that writes, if the database has one writer at a time:
	// each of two would drop its cached pages whenever the other one commits. A write first
	// takes the turn.
	writer *sql.Conn
	turn   chan struct{}
	// begin and commit begin and end a transaction of the writer, and kept caches its rows.
	begin, commit *sql.Stmt
	kept          kept
}

// New returns a store on pools whose schema is up to date, and owns them. Its Update needs a
// single writer; an engine with several writers has its own Update.
func New(engine Engine, write, read *sql.DB) *Store {
	return &Store{engine: engine, write: write, read: read, writeQ: db.New(write), readQ: db.New(read)}
}

// NewSingleWriter is New for a database with one writer at a time. It takes one connection of
// the writing pool. Its Update begins and ends transactions itself: database/sql would start
// a goroutine for each transaction and for each query in it, which is a good part of a short
// transaction's time.
func NewSingleWriter(ctx context.Context, engine Engine, write, read *sql.DB) (*Store, error) {
	s := &Store{engine: engine, write: write, read: read, turn: make(chan struct{}, 1)}
	var err error
	if s.writer, err = write.Conn(ctx); err == nil {
		s.writeQ, err = db.Prepare(ctx, unnumbered{s.writer})
	}
	if err == nil {
		s.readQ, err = db.Prepare(ctx, unnumbered{read})
	}
	for text, statement := range map[string]**sql.Stmt{
		"BEGIN IMMEDIATE": &s.begin, "COMMIT": &s.commit, "PRAGMA data_version": &s.kept.dataVersion,
	} {
		if err == nil {
			*statement, err = s.writer.PrepareContext(ctx, text) //nolint:sqlclosecheck // Close does
		}
	}
	s.lists = map[string]*sql.Stmt{}
	for _, statement := range []string{endpointsBehind, heldLanes} {
		if err == nil {
			s.lists[statement], err = read.PrepareContext(ctx, statement) //nolint:sqlclosecheck // Close does
		}
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
	for _, statement := range append(slices.Collect(maps.Values(s.lists)), s.begin, s.commit, s.kept.dataVersion) {
		if statement != nil {
			err = errors.Join(err, statement.Close())
		}
	}
	if s.writer != nil {
		err = errors.Join(err, s.writer.Close())
	}
	err = errors.Join(err, s.read.Close())
	if s.write != s.read {
		err = errors.Join(err, s.write.Close())
	}
	return err
}

// take waits for the turn to write, and returns the function that ends it.
func (s *Store) take(ctx context.Context) (giveBack func(), err error) {
	if s.turn == nil {
		return func() {}, nil
	}
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// put runs one statement that writes.
func put[P any](ctx context.Context, s *Store, doing string, exec func(context.Context, P) error, p P) error {
	giveBack, err := s.take(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer giveBack()
	return s.fail(doing, exec(s.toTheEnd(ctx), p))
}

// fail wraps an error of the database in one of the ledger's, and says what was being done.
func (s *Store) fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, s.engine.Failure(err))
}
