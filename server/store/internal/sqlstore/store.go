// Package sqlstore is what the SQL stores have in common: the schema, the
// queries, and the rows' stored form. An engine's own package opens the
// database, and adds what differs.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Engine is what differs between the databases.
type Engine struct {
	Dialect goose.Dialect
	// Rewrite puts the migrations into the engine's own words; nil: as they are.
	Rewrite *strings.Replacer
	// Failure wraps an error of the database in the ledger's that it means.
	Failure func(error) error
	// Lazy and Durable are statements with which the single writer's commits no longer
	// wait for the disk, and wait again.
	Lazy, Durable string
	// OneProcess: the database belongs to one process at a time.
	OneProcess bool
	// Now selects the database's time, in unix milliseconds; empty: it is this machine's.
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
	// writer is the only connection that writes, if the database has one writer at a
	// time: of two, each would drop its cached pages whenever the other one commits.
	// A write first takes the turn.
	writer *sql.Conn
	turn   chan struct{}
	// begin and commit begin and end a transaction of it, and kept is what it remembers.
	begin, commit *sql.Stmt
	kept          kept
}

// New returns a store on pools whose schema is up to date. It owns the pools from
// then on. Its Update needs a single writer: an engine with several has its own.
func New(engine Engine, write, read *sql.DB) *Store {
	return &Store{engine: engine, write: write, read: read, writeQ: db.New(write), readQ: db.New(read)}
}

// NewSingleWriter is New for a database with one writer at a time: it takes one
// connection of the writing pool. Its Update begins and ends transactions by hand: the
// pool's own way costs a goroutine for each and for each query in them, which is a good
// part of a short transaction's time.
func NewSingleWriter(ctx context.Context, engine Engine, write, read *sql.DB) (*Store, error) {
	s := &Store{engine: engine, write: write, read: read, turn: make(chan struct{}, 1)}
	var err error
	if s.writer, err = write.Conn(ctx); err == nil {
		s.writeQ, err = db.Prepare(ctx, s.writer)
	}
	if err == nil {
		s.readQ, err = db.Prepare(ctx, read)
	}
	for text, statement := range map[string]**sql.Stmt{
		"BEGIN IMMEDIATE": &s.begin, "COMMIT": &s.commit, "PRAGMA data_version": &s.kept.dataVersion,
	} {
		if err == nil {
			*statement, err = s.writer.PrepareContext(ctx, text) //nolint:sqlclosecheck // closed with the connection
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
	for _, list := range s.lists {
		if list != nil {
			err = errors.Join(err, list.Close())
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

// take waits for the turn to write, and returns what gives it back.
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

// fail says what was being done, and which of the ledger's errors it means.
func (s *Store) fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, s.engine.Failure(err))
}
