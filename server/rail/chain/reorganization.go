package chain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ethereum/go-ethereum/common"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// Undone is a payment that was reported as succeeded and that a reorganization took
// back for good.
type Undone struct {
	// Reference is the charge's. Empty: the payment is a signed transfer that no ledger has.
	Reference string
	// TxHash is the transaction that was reported.
	TxHash string
	// Payer and Payee are the wallets.
	Payer, Payee common.Address
	// Amount is the amount that the payee does not have.
	Amount rail.Micros
}

var _ rail.Reversible = (*Rail)(nil)

// OnUndone adds a function that is called as Config.OnUndone is, and before it. It is
// called before Start.
func (r *Rail) OnUndone(report func(ctx context.Context, u rail.Undone) error) {
	configured := r.config.OnUndone
	r.config.OnUndone = func(ctx context.Context, u Undone) error {
		if err := report(ctx, rail.Undone{Rail: r.Name(), Reference: u.Reference, TxHash: u.TxHash}); err != nil {
			return err
		}
		if configured == nil {
			return nil
		}
		return configured(ctx, u)
	}
}

// undo marks a payment as undone, and stores its report in the same transaction. The
// function mark reports whether it marked the payment.
func (r *Rail) undo(ctx context.Context, task string, u Undone, mark func(Tx) (bool, error)) error {
	marked := false
	err := r.config.Store.Update(ctx, func(tx Tx) (err error) {
		if marked, err = mark(tx); err != nil || !marked {
			return err
		}
		return records.Put(tx, kindUndone, task+"/"+u.TxHash, u)
	})
	if err != nil {
		return fmt.Errorf("store undone payment %s: %w", u.TxHash, err)
	}
	if marked {
		r.gauges.undone.Add(1)
	}
	return nil
}

// reportUndone reports the undone payments that are not reported yet.
func (r *Rail) reportUndone(ctx context.Context) error {
	waiting, err := records.List(ctx, r.config.Store, kindUndone, "", page)
	if err != nil {
		return fmt.Errorf("list undone payments: %w", err)
	}
	var errs []error
	for _, one := range waiting {
		errs = append(errs, r.reportOneUndone(ctx, one))
	}
	return errors.Join(errs...)
}

func (r *Rail) reportOneUndone(ctx context.Context, one Record) error {
	u, err := records.Decode[Undone](kindUndone, one)
	if err != nil {
		return err
	}
	if r.alarms.Due("undone "+one.Key, r.config.Clock()) {
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
