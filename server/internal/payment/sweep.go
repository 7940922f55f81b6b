package payment

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	// sweepEvery is the interval at which session accounts are looked up.
	sweepEvery = 5 * time.Second
	// idleFor is how long money may lie in a session account of an active mandate.
	idleFor = 30 * 24 * time.Hour
	// sweepPage limits the accounts that are read at a time.
	sweepPage = 200
)

// ErrNothingToSweep reports a mandate with no free money in a session account.
var ErrNothingToSweep = errors.New("payment: nothing to sweep")

// Sweep sends the free money of a mandate's session account back to the payer's wallet, or
// returns the sweep that is going on. Each sweep costs gas, and what is swept counts in the
// grant's month again when it is needed, so only the merchant that created the mandate may use
// its id instead of the token. It returns [ErrNothingToSweep], and the errors of
// [Service.PayAsAgent] about the mandate.
func (s *Service) Sweep(ctx context.Context, account ledger.Merchant, idOrToken, requestID string) (rail.Sweep, error) {
	m, err := s.agentMandate(ctx, account, idOrToken, requestID)
	if err != nil {
		return rail.Sweep{}, err
	}
	buyer, ok := s.buyer()
	if !ok {
		return rail.Sweep{}, ErrNothingToSweep
	}
	all, err := s.Instruments(ctx, m.ID, m.Card)
	if err != nil {
		return rail.Sweep{}, err
	}
	for _, in := range all {
		if in.Rail == rail.Chain {
			sweep, err := s.sweep(ctx, buyer, in.Method)
			if err == nil && sweep.Reference == "" {
				err = ErrNothingToSweep
			}
			return sweep, err
		}
	}
	return rail.Sweep{}, ErrNothingToSweep
}

// sweep begins or follows the sweep of a session account, and records it once it has ended.
func (s *Service) sweep(ctx context.Context, buyer rail.Buyer, method string) (rail.Sweep, error) {
	sweep, err := buyer.Sweep(ctx, method)
	if err != nil || sweep.Reference == "" || sweep.Outcome.Status == rail.Pending {
		return sweep, err
	}
	if sweep.Outcome.Status == rail.Succeeded {
		if err := s.Ledger.Swept(ctx, ledger.Swept{ID: sweep.Reference, MandateID: sweep.MandateID, Amount: sweep.Amount}); err != nil {
			return sweep, err
		}
		failpoint.Hit(failpoint.SweepPosted)
	}
	return sweep, buyer.SweepRecorded(ctx, sweep.Reference)
}

// sweepAccounts frees what ended purchases left, and sweeps the accounts of mandates that have
// ended or were not used for a month, at intervals.
func (s *Service) sweepAccounts(ctx context.Context) {
	buyer, ok := s.buyer()
	if !ok {
		return
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := errors.Join(s.freeRests(ctx, buyer), s.sweepDue(ctx, buyer)); err != nil && ctx.Err() == nil {
			s.Logger.ErrorContext(ctx, "sweep session accounts", slog.String("error", err.Error()))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// freeRests frees the rests of purchases whose charges are settled, which a crash has left.
func (s *Service) freeRests(ctx context.Context, buyer rail.Buyer) error {
	var all error
	for after := ""; ; {
		references, next, err := buyer.EndedPurchases(ctx, after, sweepPage)
		if err != nil {
			return errors.Join(all, err)
		}
		for _, reference := range references {
			c, err := s.Ledger.Charge(ctx, chargeOfPurchase(reference))
			if err == nil && c.Status != ledger.ChargePending {
				err = buyer.PurchaseRecorded(ctx, reference)
			}
			all = errors.Join(all, err)
		}
		if after = next; after == "" {
			return all
		}
	}
}

// sweepDue follows the sweeps that are going on and begins those that are due.
func (s *Service) sweepDue(ctx context.Context, buyer rail.Buyer) error {
	var all error
	for after := ""; ; {
		accounts, err := buyer.SessionAccounts(ctx, after, sweepPage)
		if err != nil {
			return errors.Join(all, err)
		}
		for _, a := range accounts {
			after = a.Method
			due, err := s.isSweepDue(ctx, a)
			if err == nil && due {
				_, err = s.sweep(ctx, buyer, a.Method)
			}
			all = errors.Join(all, err)
		}
		if len(accounts) < sweepPage {
			return all
		}
	}
}

// isSweepDue reports whether the money of an account goes back now.
func (s *Service) isSweepDue(ctx context.Context, a rail.SessionAccount) (bool, error) {
	now := s.Clock()
	if a.Sweeping || now.Sub(a.Since) >= idleFor {
		return true, nil
	}
	m, err := s.Ledger.Mandate(ctx, a.MandateID)
	return err == nil && (m.Status != ledger.MandateActive || !now.Before(m.Terms.ExpiresAt)), err
}
