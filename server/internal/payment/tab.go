package payment

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/sleep"
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
	return &ledger.Draw{TabID: id.New(id.Tab, s.Clock()), Block: s.TabBlock, MaxAdvance: s.MaxAdvance}, others
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
	for repeated := false; err == nil && made.Charge.ID == ""; {
		var tab ledger.Tab
		if made.OpenTab { // to the end, even if the caller goes away
			failpoint.Hit(failpoint.TabBegun)
			tab, err = s.begunTab(context.WithoutCancel(ctx), made.Tab, r)
		} else {
			tab, err = s.awaitTab(within, made.Tab)
		}
		switch {
		case err != nil:
			return ledger.Reservation{}, err
		case tab.State == ledger.TabOpening:
			return ledger.Reservation{}, ErrTabOpening
		case tab.Outcome == ledger.TabRefused && !made.OpenTab && tab.FailureReason == rail.Unavailable && !repeated:
			repeated = true // the operator may advance no more: then the ledger says so
		case tab.Outcome == ledger.TabRefused && tab.Draws == 0:
			r.Draw.Refused = tab.FailureReason
		}
		r.Draw.TabID = id.New(id.Tab, s.Clock())
		made, err = s.Ledger.Reserve(ctx, r)
	}
	return made, err
}

// awaitTab waits until a tab is no longer opening, or until ctx ends.
func (s *Service) awaitTab(ctx context.Context, t ledger.Tab) (ledger.Tab, error) {
	for pause := firstTabPoll; ; pause = min(2*pause, longestTabPoll) {
		if sleep.For(ctx, pause) != nil {
			return t, nil //nolint:nilerr // the tab as it was last read is the answer
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
	instruments, err := s.Instruments(ctx, t.MandateID, t.Card)
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

// begunTab opens the tab of a draw, unless the operator may then have to advance more for the
// payee in this month than it allows: then it returns the refusal. The ledger has decided that
// before the tab was stored; only tabs that were stored at the same time are found here. A new
// tab is closed; the block of another may be on its way, so that one stays opening.
func (s *Service) begunTab(ctx context.Context, t ledger.Tab, r ledger.Reserve) (ledger.Tab, error) {
	allowed, err := s.mayAdvance(ctx, t)
	if err != nil {
		return t, err
	}
	if allowed {
		return s.openTab(ctx, t)
	}
	if t.ID == r.Draw.TabID {
		if t, err = s.Ledger.OpenTab(ctx, t, rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}); err != nil {
			return t, err
		}
	}
	return t, r.Draw.Exhausted(s.Clock(), r.RequestID)
}

// mayAdvance reports whether the operator advances what a tab that is stored may cost: a payee
// could otherwise let mandates of its own draw less than a card pays, over and over. A tab that
// is sure to be captured costs nothing.
func (s *Service) mayAdvance(ctx context.Context, t ledger.Tab) (bool, error) {
	if t.Owed >= ledger.CardMinimum {
		return true, nil
	}
	advanced, err := s.Ledger.Advances(ctx, t.MerchantID, ledger.MonthOf(s.Clock()).Start())
	if err != nil || advanced <= s.MaxAdvance {
		return err == nil, err
	}
	s.Logger.WarnContext(ctx, "no tab is opened: the operator advances no more for the payee in this month",
		slog.String("merchantId", t.MerchantID), slog.String("tabId", t.ID), slog.Int64("micros", int64(advanced)), slog.Int64("most", int64(s.MaxAdvance)))
	return false, nil
}

// tabPayment returns the payment of a tab at its rail.
func tabPayment(t ledger.Tab, amount ledger.Micros) rail.Charge {
	return rail.Charge{
		Reference: t.ID, MandateID: t.MandateID, MerchantID: t.MerchantID, Amount: amount, Description: tabDescription,
	}
}
