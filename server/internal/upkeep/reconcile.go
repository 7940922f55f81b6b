package upkeep

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/server/internal/reconcile"
)

const (
	// reconciling is the name of the reconciliation's lease. Its cursor is the time of the
	// last run.
	reconciling = "reconcile"
	// reconcileLease is how long an instance may take.
	reconcileLease = 2 * time.Hour
	// reconcileLook is the pause between two looks whether a run is due.
	reconcileLook = 10 * time.Minute
	// reconcileWindow is how far back a run compares, beside the time since the last one.
	reconcileWindow = 3 * 24 * time.Hour
)

// reconcile compares the ledger with the rails if that is due, unless another instance does.
func (u *Upkeep) reconcile(ctx context.Context) error {
	now := u.Clock()
	cursor, taken, err := u.Store.TakeWork(ctx, reconciling, u.owner, now, now.Add(reconcileLease))
	if err != nil || !taken {
		return err
	}
	last, unknown := time.Parse(time.RFC3339, cursor)
	if unknown == nil && now.Sub(last) < u.ReconcileEvery {
		return u.Store.LeaveWork(ctx, reconciling, u.owner, cursor)
	}
	var from time.Time // the first run compares everything
	if unknown == nil {
		from = last.Add(-reconcileWindow)
	}
	r, err := reconcile.Run(ctx, reconcile.Config{Ledger: u.Store, Rails: u.Rails, Clock: u.Clock, From: from}, func(d reconcile.Difference) error {
		u.Logger.ErrorContext(ctx, "the ledger and a rail differ", slog.Any("difference", d))
		return nil
	})
	if err == nil {
		u.Telemetry.Reconciled(now, r.Differences)
		cursor = now.UTC().Format(time.RFC3339)
		u.Logger.InfoContext(ctx, "reconciled", slog.Int64("charges", r.Charges), slog.Int64("refunds", r.Refunds),
			slog.Int64("movements", r.Movements), slog.Int64("differences", r.Differences), slog.Any("unlisted", r.Unlisted))
	}
	return errors.Join(err, u.Store.LeaveWork(context.WithoutCancel(ctx), reconciling, u.owner, cursor))
}
