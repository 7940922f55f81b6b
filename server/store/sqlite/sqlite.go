// Package sqlite implements [store.Store] in one SQLite file: the embedded default.
//
//	store, err := sqlite.Open(ctx, "pay.db")
//	defer store.Close()
//
// A commit is on stable storage before it is acknowledged (WAL journal, synchronous=FULL).
// The outcomes of webhook deliveries are the exception: after a power failure the last
// deliveries are repeated. One transaction writes at a time; a pool of connections reads.
// The file belongs to one process; for several service instances use package postgres.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/paywarrant/paywarrant/internal/litedb"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore"
)

// engine stores narrow tables in the order of their keys, which saves one page write for
// each row.
var engine = sqlstore.Engine{
	Dialect: goose.DialectSQLite3, Rewrite: strings.NewReplacer("/* clustered */", "WITHOUT ROWID"), Failure: failure,
	Lazy: "PRAGMA synchronous = NORMAL", Durable: "PRAGMA synchronous = FULL", OneProcess: true,
}

// Store is a [store.Store] in one SQLite file.
type Store struct {
	*sqlstore.Store

	path string
}

var _ store.Store = (*Store)(nil)

// Open opens or creates the file at path, which only its owner can read, and brings its
// schema up to date.
func Open(ctx context.Context, path string) (*Store, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	// A commit that has moved pages in an index walks all cached pages. With 64 MiB that took
	// a tenth of a charge's time, and the system has the file in memory anyway.
	file, err := litedb.Open(full, litedb.Options{
		Readers: max(4, runtime.GOMAXPROCS(0)), WriteCache: 16 << 10, Pragmas: []string{"wal_autocheckpoint(4000)"},
	})
	if err != nil {
		return nil, err
	}
	if err := sqlstore.Migrate(ctx, engine, file.Write); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), file.Close())
	}
	shared, err := sqlstore.NewSingleWriter(ctx, engine, file.Write, file.Read)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return &Store{Store: shared, path: full}, nil
}

// Writers implements ledger.Store: the file has one writer.
func (s *Store) Writers() int { return 1 }

// SidecarPath returns the path of a file called name beside the store's own.
func (s *Store) SidecarPath(name string) string {
	return strings.TrimSuffix(s.path, filepath.Ext(s.path)) + "-" + name
}

// failure maps an error of SQLite to one of the ledger's.
func failure(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE:
		return fmt.Errorf("%w: %w", ledger.ErrConflict, err)
	}
	switch e.Code() & 0xff { // the other bits refine the error
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
	return err
}
