package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/paywarrant/paywarrant/internal/litedb"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

// reconciles measures the time in which many charges are compared with the payments of a
// sandbox processor.
func reconciles(ctx context.Context, t *table, e engine) (err error) {
	dir, err := os.MkdirTemp("", "bench-reconcile")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := filled(ctx, e, many)
	if err != nil {
		return err
	}
	defer s.close()
	path := filepath.Join(dir, "card.db")
	p, err := card.OpenProcessor(ctx, card.ProcessorConfig{Path: path})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if err := paid(ctx, s.store, path); err != nil {
		return err
	}
	cards, err := card.New(card.Config{Gateway: p})
	if err != nil {
		return err
	}
	start := time.Now()
	r, err := server.Reconcile(ctx, server.ReconcileConfig{Ledger: s.store, Rails: []rail.Rail{cards}, Dir: dir}, func(d server.Difference) error {
		return fmt.Errorf("difference: %s %s %s", d.Cause, d.TransactionID, d.Reference)
	})
	if err == nil && (r.Charges != many || r.Movements != many) {
		err = fmt.Errorf("compared %d charges and %d movements", r.Charges, r.Movements)
	}
	t.add(figure{what: e.name + ", reconciliation of 1,000,000 charges", got: time.Since(start).Seconds(), unit: " s", aim: 60, below: true})
	return err
}

// paid writes a captured payment into a processor's file for each charge.
func paid(ctx context.Context, store ledger.Reader, path string) (err error) {
	file, err := litedb.Open(path, litedb.Options{Readers: 1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	tx, err := file.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // no effect after Commit
	insert, err := tx.PrepareContext(ctx, `INSERT INTO payments (reference, id, customer_id, method_id, payee, mandate, amount_cents, description,
		capture, state, reason, captured_cents, created_at, captured_at) VALUES (?, ?, '', '', '', '', ?, '', '', 'captured', '', ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	err = store.Audit(ctx, func(a ledger.Audit) error {
		return a.Selected(ctx, ledger.Selection{}, func(c ledger.Charge) error {
			cents, at := int64(c.Amount.CentsUp()), c.CreatedAt.UnixMilli()
			_, err := insert.ExecContext(ctx, rail.Reference(c.ID, rail.Card), "pay_"+c.ID, cents, cents, at, at)
			return err
		})
	})
	if err != nil {
		return err
	}
	return tx.Commit()
}
