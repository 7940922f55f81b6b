package card

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/litedb"
)

var (
	//go:embed schema.sql
	schema string
	//go:embed payments.sql
	payments string
	//go:embed refunds.sql
	refunds string
)

// schemaVersion is the PRAGMA user_version of a file with this schema.
const schemaVersion = 3

// The payments of a file before version 3 were all captured at once, and whole. A file of
// version 1 has an additional row for each captured payment.
const (
	renameOld = `ALTER TABLE payments RENAME TO old_payments`
	moveOld   = `INSERT INTO payments (reference, id, customer_id, method_id, payee, mandate, amount_cents, description, capture,
		state, reason, captured_cents, created_at, captured_at)
		SELECT reference, id, customer_id, method_id, payee, mandate, amount_cents, description, '',
		state, reason, iif(state = 'captured', amount_cents, 0), created_at, captured_at FROM old_payments ORDER BY reference`
	dropMovements = `DROP TABLE movements`
	dropOld       = `DROP TABLE old_payments`
)

// readers is the maximum number of concurrent lookups.
const readers = 4

// database is the processor's file.
type database struct{ *litedb.DB }

// openDatabase opens the file and migrates it to the schema. If it does not exist, it is
// created, readable only by its owner. The folder must exist.
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

// migrate migrates a file to the schema. It refuses a file of a later version.
func migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback() //nolint:errcheck // no effect after Commit
	var version int
	if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	var steps []string
	switch version {
	case schemaVersion:
		return nil
	case 0:
		steps = []string{schema, payments, refunds}
	case 1:
		steps = []string{renameOld, payments, moveOld, dropMovements, dropOld, refunds}
	case 2:
		steps = []string{renameOld, payments, moveOld, dropOld, refunds}
	default:
		return fmt.Errorf("schema version %d, this program knows %d", version, schemaVersion)
	}
	for _, step := range append(steps, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)) {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return fmt.Errorf("bring schema from version %d to %d: %w", version, schemaVersion, err)
		}
	}
	return tx.Commit()
}
