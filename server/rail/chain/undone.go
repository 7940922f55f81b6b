package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail"
)

// Undone is a payment that was answered as succeeded and that a reorganization took
// back for good.
type Undone struct {
	Reference    string // of the charge; empty for the settlement of a signed transfer
	TxHash       string // that was answered
	Payer, Payee common.Address
	Amount       rail.Micros
}

var _ rail.Reversible = (*Rail)(nil)

// OnUndone adds a function that is called as Config.OnUndone is, and before it. It is
// called before Start.
func (r *Rail) OnUndone(tell func(ctx context.Context, u rail.Undone) error) {
	configured := r.config.OnUndone
	r.config.OnUndone = func(ctx context.Context, u Undone) error {
		if err := tell(ctx, rail.Undone{Rail: r.Name(), Reference: u.Reference, TxHash: u.TxHash}); err != nil {
			return err
		}
		if configured == nil {
			return nil
		}
		return configured(ctx, u)
	}
}

// undoCharge marks a charge whose transaction was undone, and stores the report of it
// in the same transaction. It leaves everything else of the record as it is now.
func (r *Rail) undoCharge(ctx context.Context, key string, u Undone) error {
	return r.undo(ctx, chargePrefix+key, u, func(tx Tx) (marked bool, err error) {
		now, found, err := read[chargeRecord](tx, kindCharge, key)
		if err != nil || !found || now.Undone || now.Outcome == nil || now.Outcome.TxHash != u.TxHash {
			return false, err
		}
		now.Undone = true
		return true, write(tx, kindCharge, key, now)
	})
}

// undoOrder is [Rail.undoCharge] for a signed transfer.
func (r *Rail) undoOrder(ctx context.Context, key string, u Undone) error {
	return r.undo(ctx, authorizationPrefix+key, u, func(tx Tx) (marked bool, err error) {
		now, found, err := read[authorizationRecord](tx, kindAuthorization, key)
		if err != nil || !found || now.Undone || now.Settled.Hex() != u.TxHash {
			return false, err
		}
		now.Undone = true
		return true, write(tx, kindAuthorization, key, now)
	})
}

func (r *Rail) undo(ctx context.Context, task string, u Undone, mark func(Tx) (bool, error)) error {
	marked := false
	err := r.config.Store.Update(ctx, func(tx Tx) (err error) {
		if marked, err = mark(tx); err != nil || !marked {
			return err
		}
		return write(tx, kindUndone, task+"/"+u.TxHash, u)
	})
	if err != nil {
		return fmt.Errorf("store undone payment %s: %w", u.TxHash, err)
	}
	if marked {
		r.figures.undone.Add(1)
	}
	return nil
}

// reportUndone raises the alarm of each payment that came undone. A report is deleted
// only after Config.OnUndone has taken it.
func (r *Rail) reportUndone(ctx context.Context) error {
	var waiting []Record
	err := r.config.Store.View(ctx, func(tx Tx) (err error) {
		waiting, err = tx.List(kindUndone, "", tended)
		return err
	})
	if err != nil {
		return fmt.Errorf("list undone payments: %w", err)
	}
	var errs []error
	for _, one := range waiting {
		errs = append(errs, r.reportOne(ctx, one))
	}
	return errors.Join(errs...)
}

func (r *Rail) reportOne(ctx context.Context, one Record) error {
	var u Undone
	if err := json.Unmarshal(one.Value, &u); err != nil {
		return fmt.Errorf("%s %s: %w: %w", kindUndone, one.Key, errRecord, err)
	}
	if r.alarms.due("undone "+one.Key, r.config.Clock()) {
		r.config.Logger.ErrorContext(ctx, "a payment that succeeded was undone by a reorganization: the payee does not have the money",
			slog.String("hash", u.TxHash), slog.String("reference", u.Reference), slog.String("payer", u.Payer.Hex()),
			slog.String("payee", u.Payee.Hex()), slog.Int64("micros", int64(u.Amount)))
	}
	if r.config.OnUndone != nil {
		if err := r.config.OnUndone(ctx, u); err != nil {
			return fmt.Errorf("report undone payment %s: %w", u.TxHash, err)
		}
	}
	if err := r.config.Store.Update(ctx, func(tx Tx) error { return tx.Delete(kindUndone, one.Key) }); err != nil {
		return fmt.Errorf("delete report of undone payment %s: %w", u.TxHash, err)
	}
	return nil
}
