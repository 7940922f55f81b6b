package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

var held = rail.Outcome{Status: rail.Held, ProcessorID: "pay_block"}

// drawing is the reservation of a draw.
func (b *bench) drawing(m ledger.Mandate, amount ledger.Micros) ledger.Reserve {
	r := b.request(m, amount)
	r.Rails, r.Kind = []rail.Name{rail.Chain}, ledger.PaywallKey // which the mandate does not allow
	r.Draw = &ledger.Draw{TabID: id.New(id.Tab, b.clock.Now()), Block: 500 * cent, MaxAdvance: 1_000_000 * cent}
	return r
}

// drawn makes a draw, and opens the tab that it needs.
func (b *bench) drawn(m ledger.Mandate, amount ledger.Micros) (ledger.Charge, error) {
	r := b.drawing(m, amount)
	for range 100 {
		reserved, err := b.Reserve(context.Background(), r)
		switch {
		case err != nil:
			return ledger.Charge{}, err
		case reserved.Charge.ID != "":
			return reserved.Charge, nil
		case reserved.OpenTab:
			if _, err := b.OpenTab(context.Background(), reserved.Tab, held); err != nil {
				return ledger.Charge{}, err
			}
		default:
			time.Sleep(time.Millisecond) // another caller opens it
		}
		r.Draw.TabID = id.New(id.Tab, b.clock.Now())
	}
	return ledger.Charge{}, errors.New("no tab was opened")
}

func (b *bench) draw(t require.TestingT, m ledger.Mandate, amount ledger.Micros) ledger.Charge {
	c, err := b.drawn(m, amount)
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeAuthorized, c.Status)
	return c
}

// finished sees a closing tab to its end: its rail answers with the outcome.
func (b *bench) finished(t require.TestingT, tab ledger.Tab, o rail.Outcome) ledger.Tab {
	ctx := context.Background()
	tab, err := b.SettleTab(ctx, tab, o)
	require.NoError(t, err)
	for after := ""; tab.State == ledger.TabSettling; {
		draws, err := b.Draws(ctx, tab.ID, after, 3)
		require.NoError(t, err)
		var ids []string
		for _, c := range draws {
			after, ids = c.ID, append(ids, c.ID)
		}
		tab, err = b.SettleDraws(ctx, tab, ids)
		require.NoError(t, err)
	}
	require.Equal(t, ledger.TabClosed, tab.State)
	return tab
}

var (
	capturedTab = rail.Outcome{Status: rail.Succeeded, ProcessorID: "pay_block"}
	voidedTab   = rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}
)

// closed closes the tab of a draw, and sees it to its end as its rail would.
func (b *bench) closed(t require.TestingT, c ledger.Charge) ledger.Tab {
	tab, err := b.Tab(context.Background(), c.TabID)
	require.NoError(t, err)
	tab, err = b.CloseTab(context.Background(), tab, ledger.TabRequested)
	require.NoError(t, err)
	require.Equal(t, ledger.TabClosing, tab.State)
	if tab.Capture == 0 {
		return b.finished(t, tab, voidedTab)
	}
	return b.finished(t, tab, capturedTab)
}

// tabs: the first draw opens a block, each draw is counted and the block is not, and the sum
// is captured once.
func tabs(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.limited())
	first := b.drawing(m, cent)
	asked, err := b.Reserve(ctx, first)
	require.NoError(t, err)
	require.True(t, asked.OpenTab)
	require.Empty(t, asked.Charge.ID)
	require.Equal(t, []any{ledger.TabOpening, 150 * cent}, []any{asked.Tab.State, asked.Tab.Block}, "the day allows no more")
	waits, err := b.Reserve(ctx, b.drawing(m, cent))
	require.NoError(t, err)
	require.Equal(t, []any{false, asked.Tab.ID, ""}, []any{waits.OpenTab, waits.Tab.ID, waits.Charge.ID})
	require.Zero(t, b.spent(t, m))
	_, err = b.OpenTab(ctx, asked.Tab, held)
	require.NoError(t, err)

	one, err := b.Reserve(ctx, first)
	require.NoError(t, err)
	require.Equal(t, []any{ledger.ChargeAuthorized, asked.Tab.ID, rail.Card}, []any{one.Charge.Status, one.Charge.TabID, one.Charge.Rail})
	again := first
	again.ChargeID = id.New(id.Charge, b.clock.Now())
	replayed, err := b.Reserve(ctx, again)
	require.NoError(t, err)
	require.True(t, replayed.Replayed)
	require.Equal(t, one.Charge.ID, replayed.Charge.ID)
	b.draw(t, m, 60*cent)
	require.Equal(t, 61*cent, b.spent(t, m))
	_, err = b.Void(ctx, one.Charge)
	require.ErrorIs(t, err, ledger.ErrNotAuthorized)
	_, err = b.Capture(ctx, captureOf(one.Charge, cent))
	require.ErrorIs(t, err, ledger.ErrNotAuthorized)
	expired, err := b.ExpiredHolds(ctx, b.clock.Now().AddDate(0, 0, 8), 10)
	require.NoError(t, err)
	require.Empty(t, expired)
	heldByCard, err := b.MandateHeld(ctx, m.ID, rail.Card)
	require.NoError(t, err)
	require.Equal(t, 61*cent, heldByCard)
	b.sound(t)

	tab := b.closed(t, one.Charge)
	require.Equal(t, []any{ledger.TabCaptured, ledger.TabRequested, 61 * cent, int64(2)}, []any{tab.Outcome, tab.Reason, tab.Capture, tab.Draws})
	c, err := b.Charge(ctx, one.Charge.ID)
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeSucceeded, c.Status)
	stats, err := b.Stats(ctx, b.merchant.ID, b.clock.Now())
	require.NoError(t, err)
	require.Equal(t, []any{61 * cent, int64(2)}, []any{stats.Volume, stats.Count})
	require.Equal(t, 61*cent, b.spent(t, m))
	require.Equal(t, []webhook.Type{
		webhook.MandateCreated, webhook.PaymentAuthorized, webhook.PaymentAuthorized, webhook.PaymentSucceeded, webhook.PaymentSucceeded,
	}, typesOf(b.eventsOf(t, m)))
	b.refused(t, b.drawing(m, 100*cent), ledger.DailyLimit)
	report := b.sound(t)
	require.Equal(t, []any{1, 61 * cent, ledger.Micros(0)}, []any{report.Tabs, report.Volume, report.Advanced})
}

// tabsUsedUp: a draw that does not fit closes its tab and opens another; one that uses the
// block up closes it at once.
func tabsUsedUp(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(300*cent, 10_000*cent))
	first := b.draw(t, m, 300*cent)
	second := b.draw(t, m, 200*cent+1)
	require.NotEqual(t, first.TabID, second.TabID)
	used, err := b.Tab(ctx, first.TabID)
	require.NoError(t, err)
	require.Equal(t, []any{ledger.TabClosing, ledger.TabUsedUp, 300 * cent}, []any{used.State, used.Reason, used.Capture})
	due, err := b.Unwinds(ctx, time.Minute, 10)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(due, func(u ledger.Unwinding) bool { return u.ID == used.ID && u.Kind == ledger.UnwindTab }))
	b.finished(t, used, capturedTab)

	third := b.draw(t, m, 300*cent-1)
	require.Equal(t, second.TabID, third.TabID)
	full, err := b.Tab(ctx, third.TabID)
	require.NoError(t, err)
	require.Equal(t, []any{ledger.TabClosing, 500 * cent}, []any{full.State, full.Capture})
	b.finished(t, full, capturedTab)
	list, err := b.Tabs(ctx, b.merchant.ID, "", 10)
	require.NoError(t, err)
	require.Len(t, list, 2)
	next, err := b.Tabs(ctx, b.merchant.ID, list[0].ID, 10)
	require.NoError(t, err)
	require.Equal(t, list[1:], next)
	b.sound(t)
}

// tabsBelowTheMinimum: what no card can pay is written off, the payee is paid, and the next
// block pays it first.
func tabsBelowTheMinimum(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	c := b.draw(t, m, 30*cent)
	tab := b.closed(t, c)
	require.Equal(t, []any{ledger.TabVoided, ledger.Micros(0)}, []any{tab.Outcome, tab.Capture})
	c, err := b.Charge(ctx, c.ID)
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeWrittenOff, c.Status)
	require.Equal(t, 30*cent, b.spent(t, m), "it will be paid")
	require.Equal(t, 30*cent, b.sound(t).Advanced)
	advances := func() ledger.Micros {
		sum, err := b.Advances(ctx, b.merchant.ID, ledger.MonthOf(b.clock.Now()).Start())
		require.NoError(t, err)
		return sum
	}
	require.Equal(t, 30*cent, advances())
	stats, err := b.Stats(ctx, b.merchant.ID, b.clock.Now())
	require.NoError(t, err)
	require.Equal(t, 30*cent, stats.Volume, "the payee has it")

	small := b.draw(t, m, cent)
	require.Equal(t, ledger.Micros(ledger.CardMinimum), advances(), "the most that the open tab may cost, and it has taken over what was owed")
	next := b.closed(t, b.draw(t, m, 24*cent+7))
	require.Equal(t, small.TabID, next.ID)
	require.Equal(t, []any{ledger.TabCaptured, 30 * cent, 55 * cent}, []any{next.Outcome, next.Owed, next.Capture})
	require.Equal(t, ledger.Micros(7), b.sound(t).Advanced, "a card pays whole cents")
	require.Equal(t, ledger.Micros(7), advances())
	later, err := b.Advances(ctx, b.merchant.ID, b.clock.Now().AddDate(0, 0, 1))
	require.NoError(t, err)
	require.Zero(t, later, "its tab closed before")
	last := b.closed(t, b.draw(t, m, 60*cent-7))
	require.Equal(t, []any{ledger.Micros(7), 60 * cent}, []any{last.Owed, last.Capture})
	require.Zero(t, b.sound(t).Advanced)
	types := typesOf(b.eventsOf(t, m))
	require.Equal(t, webhook.PaymentWrittenOff, types[2])

	empty := b.drawing(m, cent)
	asked, err := b.Reserve(ctx, empty)
	require.NoError(t, err)
	opened, err := b.OpenTab(ctx, asked.Tab, held)
	require.NoError(t, err)
	opened, err = b.CloseTab(ctx, opened, ledger.TabRequested)
	require.NoError(t, err)
	require.Equal(t, ledger.TabVoided, b.finished(t, opened, voidedTab).Outcome, "without a draw")
	b.sound(t)
}

// tabsRefused: a refused block fails the draws that waited for it, and a refused capture all
// draws of the tab.
func tabsRefused(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.limited())
	declines := rail.Outcome{Status: rail.Refused, Reason: rail.CardDeclined}
	r := b.drawing(m, cent)
	asked, err := b.Reserve(ctx, r)
	require.NoError(t, err)
	tab, err := b.OpenTab(ctx, asked.Tab, declines)
	require.NoError(t, err)
	require.Equal(t, []any{ledger.TabClosed, ledger.TabRefused, rail.CardDeclined}, []any{tab.State, tab.Outcome, tab.FailureReason})
	r.Draw.Refused = tab.FailureReason
	failed, err := b.Reserve(ctx, r)
	require.NoError(t, err)
	require.Equal(t, []any{ledger.ChargeFailed, rail.CardDeclined, ""}, []any{failed.Charge.Status, failed.Charge.FailureReason, failed.Charge.TabID})
	require.Zero(t, b.spent(t, m))
	b.sound(t)

	c := b.draw(t, m, 60*cent)
	b.draw(t, m, cent)
	tab, err = b.Tab(ctx, c.TabID)
	require.NoError(t, err)
	tab, err = b.CloseTab(ctx, tab, ledger.TabRequested)
	require.NoError(t, err)
	require.Equal(t, ledger.TabRefused, b.finished(t, tab, declines).Outcome)
	c, err = b.Charge(ctx, c.ID)
	require.NoError(t, err)
	require.Equal(t, []any{ledger.ChargeFailed, rail.CardDeclined}, []any{c.Status, c.FailureReason})
	require.Zero(t, b.spent(t, m))
	require.Zero(t, b.sound(t).Advanced)
}

// refusedDraws: a draw for which no tab can be opened is refused with the limit that leaves too
// little, or with that of the operator's advances. It leaves neither a tab nor a charge.
func refusedDraws(t *testing.T, b *bench) {
	ctx := t.Context()
	untouched := func(m ledger.Mandate) {
		t.Helper()
		tabs, err := b.MandateTabs(ctx, m.ID, 10)
		require.NoError(t, err)
		require.Empty(t, tabs)
		require.Equal(t, []webhook.Type{webhook.MandateCreated}, typesOf(b.eventsOf(t, m)))
	}
	narrow := b.mandate(t, b.terms(40*cent, 49*cent))
	r := b.drawing(narrow, cent)
	refusal := b.refused(t, r, ledger.MonthlyLimit)
	require.Equal(t, ledger.Refusal{Code: ledger.MonthlyLimit, Limit: 49 * cent, Remaining: 49 * cent, Holds: ledger.CardMinimum, RequestID: "req_1"}, *refusal, "it never suffices")
	require.True(t, b.refused(t, r, ledger.MonthlyLimit).Replayed)
	untouched(narrow)
	day := b.terms(40*cent, 10_000*cent)
	day.MaxDaily = 60 * cent
	daily := b.mandate(t, day)
	b.settle(t, b.reserve(t, daily, 11*cent), succeeded())
	refusal = b.refused(t, b.drawing(daily, 40*cent), ledger.DailyLimit)
	require.Equal(t, []any{60 * cent, 49 * cent, time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)}, []any{refusal.Limit, refusal.Remaining, refusal.RenewsAt})

	r = b.drawing(b.mandate(t, b.terms(40*cent, 10_000*cent)), cent)
	r.Draw.MaxAdvance = ledger.CardMinimum - 1
	refusal = b.refused(t, r, ledger.MerchantLimit)
	require.Equal(t, []any{r.Draw.MaxAdvance, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}, []any{refusal.Limit, refusal.RenewsAt})
	m, err := b.Mandate(ctx, r.MandateID)
	require.NoError(t, err)
	untouched(m)
	r.Draw.MaxAdvance++
	made, err := b.Reserve(ctx, r)
	require.NoError(t, err, "it was not stored under the key")
	require.True(t, made.OpenTab)
	b.sound(t)
}

// concurrentDraws: many callers share one block, and every draw is counted once.
func concurrentDraws(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(10*cent, 1000*cent))
	var (
		all     sync.WaitGroup
		mu      sync.Mutex
		sum     ledger.Micros
		refused int
	)
	for range 32 {
		all.Go(func() {
			for range 10 {
				c, err := b.drawn(m, 4*cent)
				var no *ledger.Refusal
				mu.Lock()
				switch {
				case errors.As(err, &no):
					refused++
				case err != nil:
					t.Error(err)
				default:
					sum += c.Amount
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Equal(t, []any{1000 * cent, 70}, []any{sum, refused})
	list, err := b.MandateTabs(ctx, m.ID, 100)
	require.NoError(t, err)
	require.Len(t, list, 2, fmt.Sprint(list))
	var captured ledger.Micros
	for _, tab := range list {
		require.Equal(t, ledger.TabClosing, tab.State)
		captured += b.finished(t, tab, capturedTab).Capture
	}
	require.Equal(t, sum, captured)
	b.sound(t)
}
