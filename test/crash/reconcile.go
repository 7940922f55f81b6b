package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/rail/chain/devrail"
	"github.com/paywarrant/paywarrant/server/vault"
)

// reconcile compares the ledger with the processor's own list, as an operator does: nothing
// is in flight once the service has stopped and everything is decided.
func (d *drill) reconcile(ctx context.Context, store ledger.Reader, r *report) error {
	cards, err := card.New(card.Config{Gateway: d.processor})
	if err != nil {
		return err
	}
	return r.reconcile(ctx, store, nil, cards)
}

// reconcile compares the ledger with what the chain and the processor list. Charges that a
// reorganization took back for good are differences, as they must be.
func (d *chainDrill) reconcile(ctx context.Context, store ledger.Reader, reversed map[string]bool, r *report) (err error) {
	cards, err := card.New(card.Config{Gateway: d.processor})
	if err != nil {
		return err
	}
	wrapper, err := vault.NewLocal(make([]byte, 32)) // it opens nothing
	if err != nil {
		return err
	}
	dev, err := devrail.Start(ctx, devrail.Config{
		Vault: vault.New(wrapper), Logger: slog.New(slog.DiscardHandler), URL: d.node.URL, Records: d.openRecords,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Rail.Close(), dev.Close()) }()
	return r.reconcile(ctx, store, reversed, cards, dev.Rail)
}

// reconcile adds each difference as a fault, but for those of charges that were reversed.
func (r *report) reconcile(ctx context.Context, store ledger.Reader, reversed map[string]bool, rails ...rail.Rail) error {
	done, err := server.Reconcile(ctx, server.ReconcileConfig{
		Ledger: store, Rails: rails, Settling: time.Nanosecond,
		Clock: func() time.Time { return time.Now().Add(maxLead) }, // the chain's clock may be ahead
	}, func(f server.Difference) error {
		if reversed[f.TransactionID] && f.RefundID == "" && (f.Cause == server.TwoOutcomes || f.Cause == server.ChargeWithoutMovement) {
			return nil
		}
		r.Faults = append(r.Faults, fmt.Sprintf("%s: %s %s %s: %s", f.Cause, f.TransactionID, f.RefundID, f.Reference, f.Detail))
		return nil
	})
	if err == nil && (len(done.Unlisted) > 0 || done.Uncompared > 0) {
		r.Faults = append(r.Faults, fmt.Sprintf("%v list no movements", done.Unlisted))
	}
	r.Reconciled = done.Movements
	return err
}
