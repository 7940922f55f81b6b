package payment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Prices below what a card pays are drawn from a tab; see [ledger.Tab]. A draw costs one
// transaction of the ledger, and asks no rail. Only the draw that needs a new block waits for
// the card, and with it those that arrive meanwhile.

// ErrTabOpening reports a draw that was not made, because the card did not answer the
// authorization of its block in time.
var ErrTabOpening = errors.New("payment: the block of the tab is not authorized yet")

const (
	// tabDescription appears on the card's statement.
	tabDescription = "Small payments"
	// firstTabPoll and longestTabPoll are the pauses of a draw that waits for another one's
	// block.
	firstTabPoll, longestTabPoll = 5 * time.Millisecond, 200 * time.Millisecond
	// tabChunks is the number of transactions after which the work on one tab pauses for
	// other work.
	tabChunks = 20
)

// holder returns the card rail if it can hold a block.
func (s *Service) holder() (rail.Authorizer, bool) {
	one, _ := s.Rails.Rail(rail.Card)
	a, ok := one.(rail.Authorizer)
	return a, ok
}

// drawOf returns how a small amount is drawn from a tab, and the rails without the card. It
// returns nil and the same rails if the mandate allows another rail of them, or no card.
func (s *Service) drawOf(order []rail.Name, allowed []mandate.Rail) (*ledger.Draw, []rail.Name) {
	others := slices.DeleteFunc(s.Configured(order), func(n rail.Name) bool { return n == rail.Card })
	_, able := s.holder()
	pays := func(n rail.Name) bool { return slices.Contains(allowed, mandate.Rail(n)) }
	if !able || !pays(rail.Card) || slices.ContainsFunc(others, pays) {
		return nil, order
	}
	return &ledger.Draw{TabID: id.New(id.Tab, s.Clock()), Block: s.TabBlock}, others
}

// reserved reserves an amount. A draw that needs a block opens its tab, or waits for the one
// who does.
func (s *Service) reserved(ctx context.Context, r ledger.Reserve) (ledger.Reservation, error) {
	made, err := s.Ledger.Reserve(ctx, r)
	if err != nil || made.Charge.ID != "" {
		return made, err
	}
	within, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	for err == nil && made.Charge.ID == "" {
		var tab ledger.Tab
		if made.OpenTab { // to the end, even if the caller goes away
			failpoint.Hit(failpoint.TabBegun)
			tab, err = s.openTab(context.WithoutCancel(ctx), made.Tab)
		} else {
			tab, err = s.awaitTab(within, made.Tab)
		}
		switch {
		case err != nil:
			return ledger.Reservation{}, err
		case tab.State == ledger.TabOpening:
			return ledger.Reservation{}, ErrTabOpening
		case tab.Outcome == ledger.TabRefused && tab.Draws == 0:
			r.Draw.Refused = tab.FailureReason
		}
		r.Draw.TabID = id.New(id.Tab, s.Clock())
		made, err = s.Ledger.Reserve(ctx, r)
	}
	return made, err
}

// awaitTab waits until a tab is no longer opening, or until its opener's lease has expired.
func (s *Service) awaitTab(ctx context.Context, t ledger.Tab) (ledger.Tab, error) {
	for pause := firstTabPoll; ; pause = min(2*pause, longestTabPoll) {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return t, nil
		case <-timer.C:
		}
		known, err := s.Ledger.Tab(ctx, t.ID)
		if err != nil || known.State != ledger.TabOpening {
			return known, err
		}
		t = known
	}
}

// openTab asks the card for the block of a tab. If the outcome is unknown, the tab stays
// opening, and is asked again when its lease has expired.
func (s *Service) openTab(ctx context.Context, t ledger.Tab) (ledger.Tab, error) {
	log := s.Logger.With(slog.String("tabId", t.ID), slog.String("mandateId", t.MandateID))
	instruments, err := s.Instruments(ctx, t.MandateID)
	if err != nil {
		return t, err
	}
	within, cancel := context.WithTimeout(ctx, railTimeout)
	defer cancel()
	_, outcome, err := s.Rails.Authorize(within, []rail.Name{rail.Card}, instruments, tabPayment(t, t.Block), nil)
	if err != nil || outcome.Status != rail.Held && outcome.Status != rail.Refused {
		log.WarnContext(ctx, "block of tab unknown, will ask again", slog.String("status", string(outcome.Status)), slog.Any("error", err))
		return t, nil
	}
	failpoint.Hit(failpoint.TabHeld)
	t, err = s.Ledger.OpenTab(ctx, t, outcome)
	failpoint.Hit(failpoint.TabOpened)
	if err == nil && t.Outcome == ledger.TabRefused {
		log.InfoContext(ctx, "block of tab refused", slog.String("reason", string(t.FailureReason)))
	}
	return t, err
}

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
	return s.openTab(ctx, t)
}

// captureTab has the rail of a closing tab capture the sum of its draws, or void its block.
func (s *Service) captureTab(ctx context.Context, t ledger.Tab) (ledger.Tab, error) {
	failpoint.Hit(failpoint.TabClosing)
	instruments, err := s.Instruments(ctx, t.MandateID)
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
		if t, err := s.Ledger.Tab(ctx, before); err != nil || t.MerchantID != merchantID {
			return nil, errors.Join(err, ledger.ErrNotFound)
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

// tabPayment returns the payment of a tab at its rail.
func tabPayment(t ledger.Tab, amount ledger.Micros) rail.Charge {
	return rail.Charge{
		Reference: t.ID, MandateID: t.MandateID, MerchantID: t.MerchantID, Amount: amount, Description: tabDescription,
	}
}
