// Package litedb opens SQLite files for data that must not be lost: one connection that
// writes and syncs at each commit, and a pool that only reads.
package litedb

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// DB is an open file.
type DB struct {
	// Write is the connection for writes. Its transactions take the lock when they begin.
	Write *sql.DB
	// Read is the read-only pool. Each of its transactions sees one snapshot.
	Read *sql.DB
}

// Options differ between files.
type Options struct {
	// Readers is the number of read connections. Default: 4.
	Readers int
	// WriteCache is the page cache of the write connection in KiB. Default: 2048. Each read
	// connection has 16 MiB, since the system caches the file for all of them.
	WriteCache int
	// Pragmas are set on every connection, such as "foreign_keys(1)".
	Pragmas []string
}

const (
	defaultReaders    = 4
	defaultWriteCache = 2 << 10  // KiB
	readCache         = 16 << 10 // KiB
)

// Open opens the file, and creates it, readable only by its owner, if it does not exist.
// The folder must exist. The returned error names the file.
func Open(path string, o Options) (*DB, error) {
	full, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", path, err)
	}
	file, err := os.OpenFile(full, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	o.Readers = cmp.Or(o.Readers, defaultReaders)
	db := &DB{}
	write := fmt.Sprintf("_txlock=immediate&_pragma=cache_size(%d)", -cmp.Or(o.WriteCache, defaultWriteCache))
	if db.Write, err = pool(full, 1, o.Pragmas, write); err == nil {
		read := fmt.Sprintf("_pragma=query_only(1)&_pragma=cache_size(%d)", -readCache)
		db.Read, err = pool(full, o.Readers, o.Pragmas, read)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	return db, nil
}

// pool opens connections that live as long as the pool, since each has its own prepared
// statements and page cache.
func pool(path string, connections int, pragmas []string, option string) (*sql.DB, error) {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: option}
	for _, p := range append([]string{"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)"}, pragmas...) {
		u.RawQuery += "&_pragma=" + p
	}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// Close closes the connection and the pool.
func (db *DB) Close() error {
	var err error
	for _, one := range []*sql.DB{db.Read, db.Write} {
		if one != nil {
			err = errors.Join(err, one.Close())
		}
	}
	return err
}
