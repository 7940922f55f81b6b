package ledgertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// tabsRoundedUp: if the person agreed, the rest that is left when the mandate ends is captured at
// the minimum of a card, once; the payee gets its draws. A tab that closes earlier is written off.
func tabsRoundedUp(t *testing.T, b *bench) {
	ctx := t.Context()
	for name, end := range map[string]func(ledger.Mandate){
		"revoked": func(m ledger.Mandate) {
			_, err := b.Revoke(ctx, m.ID, ledger.RevokedByUser)
			require.NoError(t, err)
		},
		"expired": func(m ledger.Mandate) { b.clock.set(m.Terms.ExpiresAt) },
	} {
		terms := b.terms(100*cent, 10_000*cent)
		terms.RoundUpRest, terms.ExpiresAt = true, b.clock.Now().AddDate(0, 0, 3)
		m := b.mandate(t, terms)
		early := b.closed(t, b.draw(t, m, 10*cent))
		require.Equal(t, []any{ledger.TabVoided, ledger.Micros(0)}, []any{early.Outcome, early.Capture}, name)
		b.clock.set(terms.ExpiresAt.Add(-time.Hour))
		c := b.draw(t, m, 20*cent)
		paid := func() ledger.Micros {
			sum, err := b.MandateVolume(ctx, m.ID)
			require.NoError(t, err)
			return sum
		}
		require.Zero(t, paid(), "no card has paid yet")
		end(m)
		tab, err := b.Tab(ctx, c.TabID)
		require.NoError(t, err)
		tab, err = b.CloseTab(ctx, tab, "")
		require.NoError(t, err)
		require.Equal(t, []ledger.Micros{50 * cent, 0, 10 * cent}, []ledger.Micros{tab.Capture, tab.Counted, tab.Owed}, name)
		b.sound(t)
		b.finished(t, tab, capturedTab)
		c, err = b.Charge(ctx, c.ID)
		require.NoError(t, err)
		require.Equal(t, []any{ledger.ChargeSucceeded, 20 * cent}, []any{c.Status, c.Amount})
		require.Equal(t, 50*cent, paid())
		require.Zero(t, b.sound(t).Advanced)
	}
	stats, err := b.Stats(ctx, b.merchant.ID, b.clock.Now())
	require.NoError(t, err)
	require.Equal(t, 60*cent, stats.Volume, "of what the cards paid above that, the payee has nothing")
}

// tabsThatClose: what a closing tab does not capture is owed from the moment that it begins to
// close, so the next tab takes it over, and one mandate owes less than a card pays.
func tabsThatClose(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	c := b.draw(t, m, 49*cent)
	closing, err := b.Tab(ctx, c.TabID)
	require.NoError(t, err)
	closing, err = b.CloseTab(ctx, closing, ledger.TabRequested)
	require.NoError(t, err)
	advances := func() ledger.Micros {
		sum, err := b.Advances(ctx, b.merchant.ID, ledger.MonthOf(b.clock.Now()).Start())
		require.NoError(t, err)
		return sum
	}
	require.Equal(t, 49*cent, advances())
	b.sound(t)
	next, err := b.Tab(ctx, b.draw(t, m, 49*cent).TabID)
	require.NoError(t, err)
	require.Equal(t, 49*cent, next.Owed)
	require.Equal(t, 49*cent, advances(), "a refused capture would leave it")
	next, err = b.CloseTab(ctx, next, ledger.TabRequested)
	require.NoError(t, err)
	require.Equal(t, 98*cent, next.Capture)
	require.Equal(t, 49*cent, advances())
	b.sound(t)
	b.finished(t, next, capturedTab)
	b.sound(t)
	require.Equal(t, ledger.TabVoided, b.finished(t, closing, voidedTab).Outcome)
	require.Zero(t, b.sound(t).Advanced)
	require.Zero(t, advances())
}

// tabsOfBefore: a tab that an earlier program began to close adds to the debt when it is decided.
func tabsOfBefore(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	c := b.draw(t, m, 49*cent)
	tab, err := b.Tab(ctx, c.TabID)
	require.NoError(t, err)
	tab, err = b.CloseTab(ctx, tab, ledger.TabRequested)
	require.NoError(t, err)
	require.NoError(t, b.store.Update(ctx, ledger.Keys{Tabs: []ledger.TallyKey{tab.Key()}, Tallies: []ledger.TallyKey{tab.Key()}}, func(s *ledger.State) (ledger.Effects, error) {
		before, tally := s.Tabs[tab.ID], s.Tallies[tab.Key()]
		before.Counted, tally.Owed = 0, 0
		return ledger.Effects{Update: ledger.Rows{Tabs: []ledger.Tab{before}, Tallies: []ledger.Tally{tally}}}, nil
	}))
	b.sound(t)
	b.finished(t, tab, voidedTab)
	require.Equal(t, 49*cent, b.sound(t).Advanced)
	require.Equal(t, 98*cent, b.closed(t, b.draw(t, m, 49*cent)).Capture)
	require.Zero(t, b.sound(t).Advanced)
}

// tabsEnd: a tab takes no draws after a day, after its month, or after the end of its
// mandate, and what is in it is captured.
func tabsEnd(t *testing.T, b *bench) {
	ctx := t.Context()
	terms := b.terms(100*cent, 10_000*cent)
	terms.ExpiresAt = b.clock.Now().AddDate(0, 0, 20)
	m := b.mandate(t, terms)
	read := func(c ledger.Charge) ledger.Tab {
		tab, err := b.Tab(ctx, c.TabID)
		require.NoError(t, err)
		return tab
	}
	first := b.draw(t, m, 50*cent)
	require.Equal(t, b.clock.Now().Add(ledger.MaxTabAge).UTC(), read(first).ClosesAt)
	early, err := b.CloseTab(ctx, read(first), "")
	require.NoError(t, err)
	require.Equal(t, ledger.TabOpen, early.State)
	b.clock.set(b.clock.Now().Add(ledger.MaxTabAge))
	second := b.draw(t, m, 50*cent)
	require.NotEqual(t, first.TabID, second.TabID)
	require.Equal(t, []any{ledger.TabClosing, ledger.TabExpired}, []any{read(first).State, read(first).Reason})
	b.finished(t, read(first), capturedTab)

	b.clock.set(time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC))
	ended, err := b.CloseTab(ctx, read(second), "")
	require.NoError(t, err)
	b.finished(t, ended, capturedTab)
	third := b.draw(t, m, 70*cent)
	require.Equal(t, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), read(third).ClosesAt)

	opening := b.drawing(m, cent)
	opening.Payee.ID, opening.Draw.TabID = "mer_other", id.New(id.Tab, b.clock.Now())
	b.refused(t, opening, ledger.MerchantNotAllowed)
	_, err = b.Revoke(ctx, m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	b.refused(t, b.drawing(m, cent), ledger.MandateIsRevoked)
	ended, err = b.CloseTab(ctx, read(third), "")
	require.NoError(t, err)
	require.Equal(t, []any{ledger.TabRevoked, 70 * cent}, []any{ended.Reason, ended.Capture})
	b.finished(t, ended, capturedTab)
	current, err := b.CurrentTabs(ctx, m.ID)
	require.NoError(t, err)
	require.Empty(t, current)
	b.sound(t)
}

// tabsOfTheDead: a tab whose opener has died is opened by the next who asks, and voided if
// its mandate has ended.
func tabsOfTheDead(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	r := b.drawing(m, cent)
	dead, err := b.Reserve(ctx, r)
	require.NoError(t, err)
	_, taken, err := b.LeaseTab(ctx, dead.Tab, b.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.False(t, taken)
	b.clock.set(b.clock.Now().Add(r.Lease))
	again, err := b.Reserve(ctx, b.drawing(m, cent))
	require.NoError(t, err)
	require.Equal(t, []any{true, dead.Tab.ID}, []any{again.OpenTab, again.Tab.ID})
	b.clock.set(b.clock.Now().Add(r.Lease))
	leased, taken, err := b.LeaseTab(ctx, dead.Tab, b.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.True(t, taken)

	_, err = b.Revoke(ctx, m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	waits, err := b.CloseTab(ctx, leased, "")
	require.NoError(t, err)
	require.Equal(t, ledger.TabOpening, waits.State, "its block may be on its way")
	late, err := b.OpenTab(ctx, leased, held)
	require.NoError(t, err)
	require.Equal(t, []any{ledger.TabClosing, ledger.Micros(0)}, []any{late.State, late.Capture})
	b.finished(t, late, voidedTab)
	b.sound(t)

	other := b.mandate(t, b.terms(100*cent, 10_000*cent))
	dead, err = b.Reserve(ctx, b.drawing(other, cent))
	require.NoError(t, err)
	_, err = b.Revoke(ctx, other.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	b.clock.set(b.clock.Now().Add(time.Hour))
	abandoned, err := b.CloseTab(ctx, dead.Tab, "")
	require.NoError(t, err)
	b.finished(t, abandoned, voidedTab)
	b.sound(t)
}
