package card

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/litedb"
)

//go:embed schema.sql
var schema string

// schemaVersion is what PRAGMA user_version says of a file with this schema.
const schemaVersion = 1

// readers is how many lookups run at a time.
const readers = 4

// database is the processor's file.
type database struct{ *litedb.DB }

// openDatabase opens the file, makes it where it is missing, readable by its
// owner alone, and brings it to the schema. The folder must exist.
func openDatabase(ctx context.Context, path string) (*database, error) {
	file, err := litedb.Open(path, litedb.Options{Readers: readers, Pragmas: []string{"foreign_keys(1)"}})
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, file.Write); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), file.Close())
	}
	return &database{file}, nil
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
