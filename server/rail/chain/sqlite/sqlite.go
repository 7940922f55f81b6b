// Package sqlite keeps the chain rail's records in a file of its own, next to the
// ledger's:
//
//	store, err := sqlite.Open(ctx, "chain.db")
//	rail, err := chain.New(chain.Config{Store: store, …})
//
// One connection writes and waits for the disk at each commit; a small pool reads.
// Instances on one machine may open the same file: their updates are serial. Instances
// on several machines use the postgres package.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/litedb"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

const schema = `CREATE TABLE IF NOT EXISTS records (
  kind  TEXT NOT NULL,
  key   TEXT NOT NULL,
  value BLOB NOT NULL,
  PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID`

// schemaVersion is what PRAGMA user_version says of a file with this schema.
const schemaVersion = 1

// readers is the number of transactions that may read at a time.
const readers = 4

// Store is an open file.
type Store struct {
	file        *litedb.DB
	write, read prepared
}

var _ records.Store = (*Store)(nil)

// Open opens the file. If the file is missing, Open creates it, readable by its owner
// alone; the folder must exist. Deleted records are overwritten, since they may contain
// sealed keys. The returned error names the file.
func Open(ctx context.Context, path string) (*Store, error) {
	file, err := litedb.Open(path, litedb.Options{Readers: readers, Pragmas: []string{"secure_delete(1)"}})
	if err != nil {
		return nil, err
	}
	s := &Store{file: file, write: prepared{db: file.Write}, read: prepared{db: file.Read}}
	if err = s.migrate(ctx); err == nil {
		err = errors.Join(s.write.prepare(ctx), s.read.prepare(ctx))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), s.Close())
	}
	return s, nil
}

// migrate creates the schema of a new file. It refuses a file of another version.
func (s *Store) migrate(ctx context.Context) error {
	var version int
	if err := s.file.Write.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if version != 0 && version != schemaVersion {
		return fmt.Errorf("schema version %d, this program knows %d", version, schemaVersion)
	}
	if _, err := s.file.Write.ExecContext(ctx, schema); err != nil {
		return fmt.Errorf("apply schema: %w", err)
	}
	if _, err := s.file.Write.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)); err != nil {
		return fmt.Errorf("set schema version: %w", err)
	}
	return nil
}

// Update implements [records.Store]. After an error of the commit it is unknown whether
// the writes were committed.
func (s *Store) Update(ctx context.Context, run func(records.Tx) error) error {
	err := s.write.transact(ctx, func(tx records.Tx) error {
		if err := run(tx); err != nil {
			return err
		}
		failpoint.Hit(failpoint.RecordsWritten)
		return nil
	})
	failpoint.Hit(failpoint.RecordsCommitted)
	return err
}

// View implements [records.Store].
func (s *Store) View(ctx context.Context, run func(records.Tx) error) error {
	return s.read.transact(ctx, run)
}

func (p *prepared) transact(ctx context.Context, run func(records.Tx) error) error {
	sqlTx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer sqlTx.Rollback() //nolint:errcheck // after Commit it does nothing
	if err := run(&transaction{ctx: ctx, tx: sqlTx, of: p}); err != nil {
		return err
	}
	if err := sqlTx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// Close implements [records.Store].
func (s *Store) Close() error {
	return s.file.Close()
}

// prepared is a pool of connections with its statements, which are parsed once for each
// connection.
type prepared struct {
	db                     *sql.DB
	get, put, delete, list *sql.Stmt
}

func (p *prepared) prepare(ctx context.Context) (err error) {
	for to, query := range map[**sql.Stmt]string{
		&p.get: "SELECT value FROM records WHERE kind = $1 AND key = $2",
		&p.put: `INSERT INTO records (kind, key, value) VALUES ($1, $2, $3)
			ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value`,
		&p.delete: "DELETE FROM records WHERE kind = $1 AND key = $2",
		&p.list:   "SELECT key, value FROM records WHERE kind = $1 AND key > $2 ORDER BY key LIMIT $3",
	} {
		if *to, err = p.db.PrepareContext(ctx, query); err != nil { //nolint:sqlclosecheck // closed with the pool
			return fmt.Errorf("prepare: %w", err)
		}
	}
	return nil
}

type transaction struct {
	ctx context.Context //nolint:containedctx // of the transaction, which it does not outlive
	tx  *sql.Tx
	of  *prepared
}

// stmt returns a statement of the pool in this transaction.
func (t *transaction) stmt(s *sql.Stmt) *sql.Stmt { return t.tx.StmtContext(t.ctx, s) }

func (t *transaction) Get(kind, key string) ([]byte, bool, error) {
	var value []byte
	err := t.stmt(t.of.get).QueryRowContext(t.ctx, kind, key).Scan(&value) //nolint:sqlclosecheck // closed with the transaction
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read record: %w", err)
	}
	return value, true, nil
}

func (t *transaction) Put(kind, key string, value []byte) error {
	if _, err := t.stmt(t.of.put).ExecContext(t.ctx, kind, key, value); err != nil { //nolint:sqlclosecheck // closed with the transaction
		return fmt.Errorf("write record: %w", err)
	}
	return nil
}

func (t *transaction) Delete(kind, key string) error {
	if _, err := t.stmt(t.of.delete).ExecContext(t.ctx, kind, key); err != nil { //nolint:sqlclosecheck // closed with the transaction
		return fmt.Errorf("delete record: %w", err)
	}
	return nil
}

func (t *transaction) List(kind, after string, limit int) (list []records.Record, err error) {
	rows, err := t.stmt(t.of.list).QueryContext(t.ctx, kind, after, limit) //nolint:sqlclosecheck // closed with the transaction
	if err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r records.Record
		if err := rows.Scan(&r.Key, &r.Value); err != nil {
			return nil, fmt.Errorf("list records: %w", err)
		}
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	return list, nil
}
