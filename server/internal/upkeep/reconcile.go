package upkeep

import (
	"context"
	"errors"
	"time"
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
	differences, err := u.Reconcile(ctx, from)
	if err == nil {
		u.Telemetry.Reconciled(now, differences)
		cursor = now.UTC().Format(time.RFC3339)
	}
	return errors.Join(err, u.Store.LeaveWork(context.WithoutCancel(ctx), reconciling, u.owner, cursor))
}
