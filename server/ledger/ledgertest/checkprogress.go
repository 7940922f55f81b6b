package ledgertest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
)

func (b *bench) changed(t *testing.T, c *ledger.Checker) ledger.Report {
	t.Helper()
	r, err := c.Changed(t.Context())
	require.NoError(t, err)
	return r
}

// checkerStoresItsProgress: what one instance has checked, another does not check
// again, and goes on from.
func checkerStoresItsProgress(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	b.settle(t, b.reserve(t, m, 10*cent), succeeded())
	require.Equal(t, 1, b.changed(t, ledger.NewChecker(b.store, b.clock.Now)).Succeeded)
	next := ledger.NewChecker(b.store, b.clock.Now)
	r := b.changed(t, next)
	require.Zero(t, r.Charges)
	require.Empty(t, r.Faults)
	behind, err := b.store.UncheckedStreams(t.Context(), "", 10)
	require.NoError(t, err)
	require.Empty(t, behind)
	b.settle(t, b.reserve(t, m, 20*cent), succeeded())
	behind, err = b.store.UncheckedStreams(t.Context(), "", 10)
	require.NoError(t, err)
	require.Equal(t, []ledger.StreamCheck{{MerchantID: b.merchant.ID, Offset: 2, End: 3}}, behind)
	r = b.changed(t, next)
	require.Equal(t, 1, r.Succeeded)
	require.Equal(t, 20*cent, r.Volume)
	require.Empty(t, r.Faults)
}

// checkerReportsAgain: a fault is found in each round, also where the mandate goes on,
// until it is mended.
func checkerReportsAgain(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	c := ledger.NewChecker(b.store, b.clock.Now)
	require.Empty(t, b.changed(t, c).Faults)
	paid := b.settle(t, b.reserve(t, m, 10*cent), succeeded())
	broken := paid
	broken.Fee = 7 // no fee is due on a card
	b.write(t, ledger.Effects{Update: ledger.Rows{Charges: []ledger.Charge{broken}}})
	for range 3 {
		require.NotEmpty(t, b.changed(t, c).Faults)
		b.settle(t, b.reserve(t, m, cent), succeeded())
	}
	faulty, err := b.store.FaultyMandates(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []string{m.ID}, faulty)
	b.write(t, ledger.Effects{Update: ledger.Rows{Charges: []ledger.Charge{paid}}})
	require.Empty(t, b.changed(t, c).Faults)
	faulty, err = b.store.FaultyMandates(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, faulty)
	require.Empty(t, b.changed(t, c).Faults)
	b.sound(t)
}

// checkerBeginsInTheMiddle: events that expired before any check are not missed; what
// comes after is checked.
func checkerBeginsInTheMiddle(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	b.settle(t, b.reserve(t, m, 10*cent), succeeded())
	b.reserve(t, m, 5*cent)
	b.clock.set(b.clock.Now().Add(ledger.Keep + time.Hour))
	_, err := b.Expire(t.Context(), b.clock.Now())
	require.NoError(t, err)
	require.Empty(t, b.eventsOf(t, m))
	c := ledger.NewChecker(b.store, b.clock.Now)
	require.Empty(t, b.changed(t, c).Faults)
	b.settle(t, b.reserve(t, m, 20*cent), succeeded())
	r := b.changed(t, c)
	require.Empty(t, r.Faults)
	require.Equal(t, 1, r.Succeeded)
	stored, err := b.Mandate(t.Context(), m.ID)
	require.NoError(t, err)
	sound := stored
	stored.Windows = []ledger.Window{stored.Windows[0]}
	stored.Windows[0].Used -= int64(cent)
	b.write(t, ledger.Effects{Update: ledger.Rows{Mandates: []ledger.Mandate{stored}}})
	require.NotEmpty(t, b.changed(t, c).Faults)
	b.write(t, ledger.Effects{Update: ledger.Rows{Mandates: []ledger.Mandate{sound}}})

	// A month without a check: the events of that time may be gone.
	b.settle(t, b.reserve(t, m, 20*cent), succeeded())
	b.clock.set(b.clock.Now().Add(ledger.Keep + time.Hour))
	_, err = b.Expire(t.Context(), b.clock.Now())
	require.NoError(t, err)
	require.Empty(t, b.changed(t, c).Faults)
	b.settle(t, b.reserve(t, m, 20*cent), succeeded())
	require.Empty(t, b.changed(t, c).Faults)
}

// oneInstanceChecks: one of several leads, until it stops or its lease lapses.
func oneInstanceChecks(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	now := b.clock.Now()
	_, taken, err := b.store.TakeWork(ctx, ledger.Checking, "one", now, now.Add(time.Minute))
	require.NoError(t, err)
	require.True(t, taken)
	other := ledger.NewChecker(b.store, b.clock.Now)
	_, led, err := other.Lead(ctx, "two", time.Minute)
	require.NoError(t, err)
	require.False(t, led)
	require.NoError(t, b.store.LeaveWork(ctx, ledger.Checking, "two", "nothing of its own"))
	require.NoError(t, b.store.LeaveWork(ctx, ledger.Checking, "one", "somewhere"))
	cursor, taken, err := b.store.TakeWork(ctx, ledger.Checking, "three", now, now.Add(time.Minute))
	require.NoError(t, err)
	require.True(t, taken)
	require.Equal(t, "somewhere", cursor)
	b.clock.set(now.Add(2 * time.Minute))
	r, led, err := other.Lead(ctx, "two", time.Minute)
	require.NoError(t, err)
	require.True(t, led, "the lease has lapsed")
	require.Positive(t, r.Mandates)
	require.NotEmpty(t, m.ID)
}

// eventsExpireAsAPrefix: where the clocks of two instances differ, the later event of a
// mandate may have the lower id. It does not go first.
func eventsExpireAsAPrefix(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	began := b.clock.Now()
	b.clock.set(began.Add(2 * time.Second))
	b.settle(t, b.reserve(t, m, 10*cent), succeeded())
	b.clock.set(began.Add(time.Second)) // an instance whose clock is behind
	b.settle(t, b.reserve(t, m, 10*cent), succeeded())
	b.clock.set(began.Add(ledger.Keep + 1500*time.Millisecond))
	_, err := b.Expire(t.Context(), b.clock.Now())
	require.NoError(t, err)
	left := b.eventsOf(t, m)
	require.Len(t, left, 2)
	require.EqualValues(t, 2, left[0].Seq)
	b.sound(t)
}

// databaseClock: the store knows the time of its database.
func databaseClock(t *testing.T, b *bench) {
	now, err := b.store.Now(t.Context())
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), now, 2*time.Second)
}

// checkerKnowsAddedLimits: a limit that the person adds is no fault, hides none, and one that
// is mended later is gone.
func checkerKnowsAddedLimits(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	b.settle(t, b.reserve(t, m, 30*cent), succeeded())
	b.reserve(t, m, 5*cent)
	known := ledger.NewChecker(b.store, b.clock.Now)
	check := func() []string { return b.changed(t, known).Faults }
	stored := func() ledger.Mandate {
		row, err := b.Mandate(t.Context(), m.ID)
		require.NoError(t, err)
		return row
	}
	add := func(change func(*ledger.Terms)) {
		terms := stored().Terms
		change(&terms)
		_, err := b.LowerLimits(t.Context(), m.ID, terms)
		require.NoError(t, err)
	}
	plant := func(more int64) {
		row := stored()
		i := slices.IndexFunc(row.Windows, func(w ledger.Window) bool { return w.Kind == ledger.MonthlyLimit })
		row.Windows[i].Used += more
		b.write(t, ledger.Effects{Update: ledger.Rows{Mandates: []ledger.Mandate{row}}})
	}
	require.Empty(t, check())
	add(func(terms *ledger.Terms) { terms.MaxTotal = 500 * cent })
	b.settle(t, b.reserve(t, m, 20*cent), succeeded())
	require.Empty(t, check())

	add(func(terms *ledger.Terms) { terms.MaxDaily = 400 * cent })
	plant(1)
	require.NotEmpty(t, check(), "the added limit hides no other")
	add(func(terms *ledger.Terms) { terms.MaxPaymentsPerDay = 9 })
	require.NotEmpty(t, check())
	plant(-1)
	require.Empty(t, check())
	b.settle(t, b.reserve(t, m, 7*cent), succeeded())
	require.Empty(t, check())
	b.sound(t)
}
