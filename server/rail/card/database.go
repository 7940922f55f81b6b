package card

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver
)

//go:embed schema.sql
var schema string

// schemaVersion is what PRAGMA user_version says of a file with this schema.
const schemaVersion = 1

// readers is how many lookups run at a time.
const readers = 4

// database is the processor's file, open twice: one connection that writes, and a
// pool that only reads.
type database struct {
	writer *sql.DB
	reader *sql.DB
}

// openDatabase opens the file, makes it where it is missing, readable by its
// owner alone, and brings it to the schema. The folder must exist.
func openDatabase(ctx context.Context, path string) (*database, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("create file: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("create file: %w", err)
	}
	db := &database{}
	if db.writer, err = sql.Open("sqlite", dsn(path, "_txlock=immediate")); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	db.writer.SetMaxOpenConns(1)
	if db.reader, err = sql.Open("sqlite", dsn(path, "_pragma=query_only(true)")); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.writer.Close())
	}
	db.reader.SetMaxOpenConns(readers)
	db.reader.SetMaxIdleConns(readers)
	if err := migrate(ctx, db.writer); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.close())
	}
	return db, nil
}

// dsn names the file, whatever characters its path has, with what every
// connection is set to: FULL waits for the disk at each commit.
func dsn(path, extra string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}
	u.RawQuery = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(true)&" + extra
	return u.String()
}

// migrate gives a new file the schema. A file of a later version is left alone.
func migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // after Commit it does nothing
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	switch version {
	case schemaVersion:
		return nil
	case 0:
		if _, err := tx.ExecContext(ctx, schema); err != nil {
			return fmt.Errorf("apply schema: %w", err)
		}
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)); err != nil {
			return fmt.Errorf("set schema version: %w", err)
		}
		return tx.Commit()
	default:
		return fmt.Errorf("schema version %d, this program knows %d", version, schemaVersion)
	}
}

func (d *database) close() error {
	return errors.Join(d.reader.Close(), d.writer.Close())
}
