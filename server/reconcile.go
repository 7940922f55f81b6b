package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/server/internal/reconcile"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Difference is a charge or refund on which the ledger and a rail disagree.
type Difference = reconcile.Difference

// DifferenceCause is the kind of a [Difference].
type DifferenceCause = reconcile.Cause

// The causes of differences.
const (
	MovementWithoutCharge = reconcile.MovementWithoutCharge
	ChargeWithoutMovement = reconcile.ChargeWithoutMovement
	WrongAmount           = reconcile.WrongAmount
	MovedTwice            = reconcile.MovedTwice
	TwoOutcomes           = reconcile.TwoOutcomes
)

// Reconciliation counts what [Reconcile] has compared.
type Reconciliation = reconcile.Report

// ReconcileConfig configures [Reconcile].
type ReconcileConfig struct {
	// Ledger is the service's store. Required.
	Ledger ledger.Reader
	// Rails are the rails to compare. Those that cannot list their movements are named in
	// the result. Required.
	Rails []rail.Rail
	// Clock returns the service's current time. Default: time.Now.
	Clock func() time.Time
	// From compares what has succeeded from this time on. Default: everything.
	From time.Time
	// Settling is the age from which a charge's movement must be final on its rail. Younger
	// charges without a movement are in flight. Default: one hour.
	Settling time.Duration
	// Dir is the folder of temporary files. Default: that of the system.
	Dir string
}

// Reconcile compares the ledger with what the rails have moved, and calls found with each
// difference. The service may be running. It needs constant memory, and files of about 300
// bytes a charge. It returns the error of found, and those of the store and the rails.
func Reconcile(ctx context.Context, cfg ReconcileConfig, found func(Difference) error) (Reconciliation, error) {
	if cfg.Ledger == nil || len(cfg.Rails) == 0 {
		return Reconciliation{}, errors.New("reconcile: Ledger and Rails are required")
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	return reconcile.Run(ctx, reconcile.Config{
		Ledger: cfg.Ledger, Rails: cfg.Rails, Clock: cfg.Clock, From: cfg.From, Settling: cfg.Settling, Dir: cfg.Dir,
	}, found)
}

// reconcile logs the differences in what has succeeded since a time.
func (s *Server) reconcile(ctx context.Context, from time.Time) (int64, error) {
	r, err := Reconcile(ctx, ReconcileConfig{Ledger: s.config.Store, Rails: s.config.Rails, Clock: s.config.Clock, From: from}, func(d Difference) error {
		s.config.Logger.ErrorContext(ctx, "the ledger and a rail differ", slog.Any("difference", d))
		return nil
	})
	if err == nil && r.Uncompared > 0 {
		s.config.Logger.WarnContext(ctx, "rails list no movements, so some charges were not compared", slog.Any("rails", r.Unlisted),
			slog.Int64("uncompared", r.Uncompared))
	}
	if err == nil {
		s.config.Logger.InfoContext(ctx, "reconciled", slog.Int64("charges", r.Charges), slog.Int64("refunds", r.Refunds),
			slog.Int64("movements", r.Movements), slog.Int64("differences", r.Differences), slog.Any("unlisted", r.Unlisted))
	}
	return r.Differences, err
}
