package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// tabChunks is the number of transactions after which the work on one tab pauses for other
// work.
const tabChunks = 20

// unwindTab sees a tab to its end: it opens one whose opener has died, closes one whose time
// is over, has its rail capture the sum, and decides its draws. A tab that is open has its
// next work when it must close.
func (s *Service) unwindTab(ctx context.Context, tabID string) (next time.Time, err error) {
	t, err := s.Ledger.Tab(ctx, tabID)
	if errors.Is(err, ledger.ErrNotFound) {
		return time.Time{}, nil
	}
	if err == nil && t.Current() {
		t, err = s.Ledger.CloseTab(ctx, t, "")
	}
	if err == nil && t.State == ledger.TabOpening {
		t, err = s.reopenTab(ctx, t)
	}
	switch {
	case err != nil:
		return time.Time{}, err
	case t.State == ledger.TabOpening:
		return t.LeaseUntil, nil
	case t.State == ledger.TabOpen:
		return t.ClosesAt, nil
	case t.State == ledger.TabClosing:
		if t, err = s.captureTab(ctx, t); err != nil {
			return time.Time{}, err
		}
	}
	return s.settleDraws(ctx, t)
}

// reopenTab asks for the block of a tab whose opener has died.
func (s *Service) reopenTab(ctx context.Context, t ledger.Tab) (ledger.Tab, error) {
	t, taken, err := s.Ledger.LeaseTab(ctx, t, s.Clock().Add(leaseFor))
	if err != nil || !taken {
		return t, err
	}
	if allowed, err := s.mayAdvance(ctx, t); err != nil || !allowed {
		return t, err
	}
	return s.openTab(ctx, t)
}

// captureTab has the rail of a closing tab capture the sum of its draws, or void its block.
func (s *Service) captureTab(ctx context.Context, t ledger.Tab) (ledger.Tab, error) {
	failpoint.Hit(failpoint.TabClosing)
	instruments, err := s.Instruments(ctx, t.MandateID, t.Card)
	if err != nil {
		return t, err
	}
	var outcome rail.Outcome
	if t.Capture > 0 {
		_, outcome, err = s.Rails.Capture(ctx, []rail.Name{rail.Card}, instruments, tabPayment(t, t.Capture), nil)
	} else if one, able := s.holder(); able {
		outcome, err = one.Void(ctx, rail.Reference(t.ID, rail.Card))
	} else {
		err = rail.ErrNotConfigured
	}
	if err != nil {
		return t, fmt.Errorf("close tab %s: %w", t.ID, err)
	}
	failpoint.Hit(failpoint.TabDecided)
	t, err = s.Ledger.SettleTab(ctx, t, outcome)
	failpoint.Hit(failpoint.TabSettled)
	if err == nil && t.Outcome == ledger.TabRefused {
		s.Logger.ErrorContext(ctx, "the card refused to capture a tab, and its draws fail", slog.String("tabId", t.ID), slog.String("mandateId", t.MandateID),
			slog.String("merchantId", t.MerchantID), slog.Int64("micros", int64(t.Drawn)), slog.String("reason", string(t.FailureReason)))
	}
	return t, err
}

// settleDraws decides the draws of a settling tab, and then closes it. If there are many, it
// returns the time to go on.
func (s *Service) settleDraws(ctx context.Context, t ledger.Tab) (next time.Time, err error) {
	after := ""
	for range tabChunks {
		if t.State != ledger.TabSettling {
			return time.Time{}, nil
		}
		var waiting []string
		for len(waiting) < ledger.MaxDrawsSettled {
			draws, err := s.Ledger.Draws(ctx, t.ID, after, ledger.MaxDrawsSettled)
			if err != nil {
				return time.Time{}, err
			}
			if len(draws) == 0 {
				break
			}
			for _, c := range draws {
				if after = c.ID; c.Status == ledger.ChargeAuthorized {
					waiting = append(waiting, c.ID)
				}
			}
		}
		if t, err = s.Ledger.SettleDraws(ctx, t, waiting); err != nil {
			return time.Time{}, err
		}
		failpoint.Hit(failpoint.DrawsSettled)
	}
	return s.Clock(), nil
}

// closeTabs closes the tabs of a mandate that has ended.
func (s *Service) closeTabs(ctx context.Context, mandateID string) error {
	tabs, err := s.Ledger.CurrentTabs(ctx, mandateID)
	for _, t := range tabs {
		if _, one := s.Ledger.CloseTab(ctx, t, ""); one != nil {
			err = errors.Join(err, one)
		}
	}
	return err
}

// Tabs lists a payee's tabs, newest first, beginning after the tab with the id before. It
// returns ledger.ErrNotFound if the payee has no such tab.
func (s *Service) Tabs(ctx context.Context, merchantID, before string, limit int) ([]ledger.Tab, error) {
	if before != "" {
		t, err := s.Ledger.Tab(ctx, before)
		if err != nil {
			return nil, err
		}
		if t.MerchantID != merchantID {
			return nil, ledger.ErrNotFound
		}
	}
	return s.Ledger.Tabs(ctx, merchantID, before, limit)
}

// CloseTab ends the draws of a payee's tab; the sum is captured in the background. It returns
// the tab, which does not change if it is not open, or ledger.ErrNotFound.
func (s *Service) CloseTab(ctx context.Context, merchantID, tabID string) (ledger.Tab, error) {
	t, err := s.Ledger.Tab(ctx, tabID)
	if err == nil && t.MerchantID != merchantID {
		err = ledger.ErrNotFound
	}
	if err == nil && t.State == ledger.TabOpen {
		t, err = s.Ledger.CloseTab(ctx, t, ledger.TabRequested)
		s.wakeUnwinding()
	}
	if err != nil {
		return ledger.Tab{}, err
	}
	return t, nil
}
