package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/pgpool"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// Update implements [records.Store]. An update that collided with another one, or that
// lost its connection before its commit, is run again for up to two seconds. An error
// of the commit leaves it unknown whether the writes were committed.
func (s *Store) Update(ctx context.Context, run func(records.Tx) error) error {
	select {
	case <-s.writing: // one connection at a time waits for the lock
		defer func() { s.writing <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	err := pgpool.Retry(ctx, func() (bool, error) { return s.transact(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, locked(run)) })
	failpoint.Hit(failpoint.RecordsCommitted)
	return err
}

// View implements [records.Store]. Its errors are those of [Store.Update].
func (s *Store) View(ctx context.Context, run func(records.Tx) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgpool.Retry(ctx, func() (bool, error) { return s.transact(ctx, options, run) })
}

// locked makes an update wait for the others. Its reads see what they have committed,
// since each statement sees the newest state.
func locked(run func(records.Tx) error) func(records.Tx) error {
	return func(tx records.Tx) error {
		t := tx.(*transaction) // it is one
		var version []byte
		err := t.tx.QueryRow(t.ctx, "SELECT value FROM chain_records WHERE kind = 'lock' AND key = '' FOR UPDATE").Scan(&version)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return errLocked
		case err != nil:
			return fmt.Errorf("lock records: %w", err)
		case string(version) != schemaVersion:
			return fmt.Errorf("postgres: records have schema version %s, this program knows %s", version, schemaVersion)
		}
		if err := run(tx); err != nil {
			return err
		}
		failpoint.Hit(failpoint.RecordsWritten)
		return nil
	}
}

// transact runs one transaction. It reports whether the transaction did nothing and may
// be run again.
func (s *Store) transact(ctx context.Context, options pgx.TxOptions, run func(records.Tx) error) (lost bool, err error) {
	tx, err := s.pool.BeginTx(ctx, options)
	if err != nil {
		return mayRunAgain(err), fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after Commit it does nothing
	if err := run(&transaction{ctx: ctx, tx: tx}); err != nil {
		return mayRunAgain(err), err
	}
	if err := tx.Commit(ctx); err != nil {
		return pgpool.Lost(err), fmt.Errorf("commit: %w", err)
	}
	return false, nil
}

// mayRunAgain reports whether an error before the commit is the database's, and
// temporary.
func mayRunAgain(err error) bool {
	var connect *pgconn.ConnectError
	return pgpool.Again(err) || pgconn.SafeToRetry(err) || errors.As(err, &connect)
}

type transaction struct {
	ctx context.Context //nolint:containedctx // of the transaction, which it does not outlive
	tx  pgx.Tx
}

func (t *transaction) Get(kind, key string) ([]byte, bool, error) {
	var value []byte
	err := t.tx.QueryRow(t.ctx, "SELECT value FROM chain_records WHERE kind = $1 AND key = $2", kind, key).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read record: %w", err)
	}
	return value, true, nil
}

func (t *transaction) Put(kind, key string, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	_, err := t.tx.Exec(t.ctx,
		"INSERT INTO chain_records (kind, key, value) VALUES ($1, $2, $3) ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value", kind, key, value)
	if err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	return nil
}

func (t *transaction) Delete(kind, key string) error {
	if _, err := t.tx.Exec(t.ctx, "DELETE FROM chain_records WHERE kind = $1 AND key = $2", kind, key); err != nil {
		return fmt.Errorf("delete record: %w", err)
	}
	return nil
}

func (t *transaction) List(kind, after string, limit int) ([]records.Record, error) {
	rows, err := t.tx.Query(t.ctx, "SELECT key, value FROM chain_records WHERE kind = $1 AND key > $2 ORDER BY key LIMIT $3", kind, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[records.Record])
	if err != nil {
		return nil, fmt.Errorf("list records: %w", err)
	}
	return list, nil
}
