package ledgertest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// refundedDraw asks for a refund of a draw as the service does.
func (b *bench) refundedDraw(t require.TestingT, draw ledger.Charge, amount ledger.Micros, key string) (ledger.Refund, error) {
	c, err := b.Charge(context.Background(), draw.ID)
	require.NoError(t, err)
	q := b.refundOf(c, amount, key)
	if c.Status == ledger.ChargeWrittenOff {
		q.PaidBy, err = b.PaidBy(context.Background(), c)
		if !errors.Is(err, ledger.ErrNotFound) {
			require.NoError(t, err)
		}
	}
	r, _, err := b.Refund(context.Background(), q)
	return r, err
}

// refundsOfDraws: a draw of an open tab is refunded in full only, and then leaves the tab; once
// the tab is captured, the card gives back any part.
func refundsOfDraws(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.limited())
	first, second := b.draw(t, m, 30*cent), b.draw(t, m, 60*cent)
	require.Equal(t, []int64{90, 90, 90, 2}, b.used(t, m))
	tab, err := b.Tab(ctx, first.TabID)
	require.NoError(t, err)
	var draw *ledger.DrawError
	_, err = b.refundedDraw(t, first, 10*cent, "part")
	require.ErrorAs(t, err, &draw)
	require.Equal(t, ledger.DrawError{TabID: tab.ID, ClosesAt: tab.ClosesAt}, *draw)
	for range 2 {
		r, err := b.refundedDraw(t, first, 0, "all")
		require.NoError(t, err)
		require.Equal(t, []any{ledger.RefundSucceeded, 30 * cent, rail.Name("")}, []any{r.Status, r.Amount, r.Rail})
	}
	require.Equal(t, []int64{60, 60, 60, 1}, b.used(t, m), "daily, monthly, total, payments")
	c, err := b.Charge(ctx, first.ID)
	require.NoError(t, err)
	require.Equal(t, []any{ledger.ChargeVoided, ledger.Micros(0), true}, []any{c.Status, c.Refunded, c.GivenBack()})
	_, err = b.refundedDraw(t, first, 0, "again")
	require.ErrorIs(t, err, ledger.ErrNotRefundable)
	tab, err = b.Tab(ctx, tab.ID)
	require.NoError(t, err)
	require.Equal(t, []any{60 * cent, int64(1)}, []any{tab.Drawn, tab.Draws})
	b.sound(t)

	tab, err = b.CloseTab(ctx, tab, ledger.TabRequested)
	require.NoError(t, err)
	_, err = b.refundedDraw(t, second, 0, "early")
	require.ErrorAs(t, err, &draw)
	require.Equal(t, ledger.DrawError{TabID: tab.ID}, *draw)
	require.Equal(t, 60*cent, b.finished(t, tab, capturedTab).Capture)
	r, err := b.refundedDraw(t, second, 20*cent, "later")
	require.NoError(t, err)
	require.Equal(t, []any{ledger.RefundPending, rail.Card}, []any{r.Status, r.Rail})
	_, err = b.SettleRefund(ctx, r, gaveBack)
	require.NoError(t, err)
	require.Equal(t, []int64{40, 40, 40, 1}, b.used(t, m))
	require.Equal(t, []webhook.Type{
		webhook.MandateCreated, webhook.PaymentAuthorized, webhook.PaymentAuthorized, webhook.PaymentVoided, webhook.PaymentSucceeded, webhook.PaymentRefunded,
	}, typesOf(b.eventsOf(t, m)))
	b.sound(t)
}

// emptiedTabs: a tab that every draw has left captures nothing, and keeps what it owes.
func emptiedTabs(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	b.closed(t, b.draw(t, m, 40*cent))
	c := b.draw(t, m, 5*cent)
	_, err := b.refundedDraw(t, c, 0, "k")
	require.NoError(t, err)
	tab := b.closed(t, c)
	require.Equal(t, []any{ledger.TabVoided, 40 * cent, int64(0)}, []any{tab.Outcome, tab.Owed, tab.Draws})
	require.Equal(t, 40*cent, b.sound(t).Advanced)
	require.Equal(t, 95*cent, b.closed(t, b.draw(t, m, 55*cent)).Capture)
	require.Zero(t, b.sound(t).Advanced)
}

// refundsOfWrittenOffDraws: what no card has paid goes back to the operator, and is captured by
// no later tab; what a later tab has captured goes back to the card.
func refundsOfWrittenOffDraws(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	first := b.draw(t, m, 40*cent)
	b.closed(t, first)
	r, err := b.refundedDraw(t, first, 15*cent, "a")
	require.NoError(t, err)
	require.Equal(t, []any{ledger.RefundSucceeded, rail.Name("")}, []any{r.Status, r.Rail})
	require.Equal(t, 25*cent, b.sound(t).Advanced, "the payee has given it back to the operator")
	require.Equal(t, 25*cent, b.spent(t, m))

	second := b.draw(t, m, 20*cent)
	_, err = b.refundedDraw(t, first, 5*cent, "b")
	require.NoError(t, err)
	tab, err := b.Tab(ctx, second.TabID)
	require.NoError(t, err)
	require.Equal(t, 20*cent, tab.Owed, "the next tab had taken it over")
	b.sound(t)
	b.draw(t, m, 10*cent)
	tab, err = b.CloseTab(ctx, tab, ledger.TabRequested)
	require.NoError(t, err)
	require.Equal(t, 50*cent, tab.Capture)
	var draw *ledger.DrawError
	_, err = b.refundedDraw(t, first, 0, "c")
	require.ErrorAs(t, err, &draw)
	require.Equal(t, ledger.DrawError{TabID: tab.ID}, *draw)
	b.finished(t, tab, capturedTab)

	c, err := b.Charge(ctx, first.ID)
	require.NoError(t, err)
	by, err := b.PaidBy(ctx, c)
	require.NoError(t, err)
	require.Equal(t, tab.ID, by)
	_, err = b.refundedDraw(t, first, 21*cent, "d")
	require.ErrorIs(t, err, ledger.ErrAboveCharge)
	r, err = b.refundedDraw(t, first, 0, "e")
	require.NoError(t, err)
	require.Equal(t, []any{ledger.RefundPending, rail.Card, 20 * cent}, []any{r.Status, r.Rail, r.Amount})
	_, err = b.SettleRefund(ctx, r, gaveBack)
	require.NoError(t, err)
	require.Equal(t, 30*cent, b.spent(t, m))
	require.Zero(t, b.sound(t).Advanced)
	stats, err := b.Stats(ctx, b.merchant.ID, b.clock.Now())
	require.NoError(t, err)
	require.Equal(t, []ledger.Micros{70 * cent, 40 * cent}, []ledger.Micros{stats.Volume, stats.Refunded})
}

// modelRefundDraw refunds a draw, in full or in part, whatever its state.
func (b *bench) modelRefundDraw(rt *rapid.T, store *crashing, want *tabModel) {
	ctx := context.Background()
	c, err := b.Charge(ctx, pick(rt, want.all).ID)
	require.NoError(rt, err)
	tab, err := b.Tab(ctx, c.TabID)
	require.NoError(rt, err)
	amount := ledger.Micros(0)
	if rapid.Bool().Draw(rt, "part") {
		amount = ledger.Micros(rapid.Int64Range(1, int64(c.Amount)).Draw(rt, "refunded"))
		if rapid.Bool().Draw(rt, "cents") {
			amount = max(amount-amount%cent, 1)
		}
	}
	var r ledger.Refund
	want.refunds.asked++
	key := c.ID + string(rune('a'+want.refunds.asked))
	err = again(rt, store, func() (err error) {
		r, err = b.refundedDraw(rt, c, amount, key)
		return err
	})
	if errors.Is(err, ledger.ErrIdempotencyInProgress) { // the answer of the first was lost
		all, listErr := b.RefundsOf(ctx, c.ID, 0, ledger.MaxRefunds)
		require.NoError(rt, listErr)
		r, err = all[len(all)-1], nil
	}
	left := c.Amount - c.Refunded
	var draw *ledger.DrawError
	switch {
	case !c.Serves():
		require.ErrorIs(rt, err, ledger.ErrNotRefundable)
	case left == 0, amount > left:
		require.ErrorIs(rt, err, ledger.ErrAboveCharge)
	case c.Status == ledger.ChargeAuthorized && (tab.State != ledger.TabOpen || amount > 0 && amount < left || lapses(tab, left)):
		require.ErrorAs(rt, err, &draw)
		require.Equal(rt, tab.State == ledger.TabOpen, !draw.ClosesAt.IsZero())
	case c.Status == ledger.ChargeAuthorized:
		require.NoError(rt, err)
		delete(want.counted, c.ID)
		delete(want.draws[c.TabID], c.ID)
		want.ended[c.ID] = ledger.ChargeVoided
	case c.Status == ledger.ChargeWrittenOff && errors.As(err, &draw): // a tab captures it just now, or will
		owing, err := b.Tab(ctx, draw.TabID)
		require.NoError(rt, err)
		require.Equal(rt, owing.State == ledger.TabOpen, !draw.ClosesAt.IsZero())
	default:
		require.NoError(rt, err)
		if r.Status != ledger.RefundPending {
			want.forgiven += r.Amount
		} else if !b.modelCardRefund(rt, store, want, c, r) {
			return
		}
		c.Refunded += r.Amount
		want.counted[c.ID] = c
	}
}

// lapses reports whether a card captures a tab, and would not if its sum were less.
func lapses(tab ledger.Tab, less ledger.Micros) bool {
	sum := tab.Owed + tab.Drawn
	return sum >= ledger.CardMinimum && sum-less < ledger.CardMinimum
}

// tabsDoNotLapse: a refund leaves no tab that a card would have captured to the operator.
func tabsDoNotLapse(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	first, second := b.draw(t, m, 30*cent), b.draw(t, m, 30*cent)
	var draw *ledger.DrawError
	_, err := b.refundedDraw(t, first, 0, "k")
	require.ErrorAs(t, err, &draw)
	require.False(t, draw.ClosesAt.IsZero())
	require.Equal(t, 60*cent, b.closed(t, second).Capture)
	r, err := b.refundedDraw(t, first, 0, "k2")
	require.NoError(t, err)
	require.Equal(t, rail.Card, r.Rail)
	_, err = b.SettleRefund(t.Context(), r, gaveBack)
	require.NoError(t, err)

	third := b.draw(t, m, 20*cent)
	b.closed(t, third)
	b.draw(t, m, 30*cent)
	_, err = b.refundedDraw(t, third, 0, "k3")
	require.ErrorAs(t, err, &draw, "what the next tab owes counts as well")
	require.False(t, draw.ClosesAt.IsZero())
	b.sound(t)
}

// modelCardRefund has the processor give back whole cents of what it captured: always, if they
// are those of a draw that it captured. It reports whether it did.
func (b *bench) modelCardRefund(rt *rapid.T, store *crashing, want *tabModel, c ledger.Charge, r ledger.Refund) bool {
	tabID, o := c.TabID, gaveBack
	if c.Status == ledger.ChargeWrittenOff {
		var err error
		tabID, err = b.PaidBy(context.Background(), c)
		require.NoError(rt, err)
	}
	if r.Amount%cent != 0 {
		o = rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}
	}
	require.NoError(rt, again(rt, store, func() error {
		_, err := b.SettleRefund(context.Background(), r, o)
		return err
	}))
	if o.Status == rail.Refused {
		return false
	}
	want.byCard[tabID] += r.Amount
	require.LessOrEqual(rt, want.byCard[tabID], want.captured[tabID], "a card gets back what it has paid")
	return true
}
