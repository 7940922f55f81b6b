package ledgertest

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// checkerFinds plants faults in a sound ledger, one at a time, as a bug would, and
// takes each back. A whole check finds them all; an incremental one those in what
// has changed.
func checkerFinds(t *testing.T, b *bench) {
	m := b.mandate(t, b.limited())
	paid, held := b.settle(t, b.reserve(t, m, 10*cent), succeeded()), b.reserve(t, m, 20*cent)
	b.settle(t, b.reserve(t, m, 30*cent), declined())
	m, err := b.Mandate(t.Context(), m.ID)
	require.NoError(t, err)
	tally := ledger.Tally{
		TallyKey: ledger.TallyKey{MandateID: m.ID, MerchantID: b.merchant.ID}, Count: 1, Volume: 10 * cent,
		Month: paid.Day - paid.Day%100, Used: 30 * cent,
	}
	sound := ledger.Rows{Mandates: []ledger.Mandate{m}, Charges: []ledger.Charge{paid, held}, Tallies: []ledger.Tally{tally}}
	known := ledger.NewChecker(b.store, b.clock.Now)
	for _, fault := range []struct {
		name  string
		plant func(*ledger.Rows)
		fresh bool // an incremental check finds it too
	}{
		{"daily window too low", func(r *ledger.Rows) { r.Mandates[0].Windows[0].Used-- }, true},
		{"monthly window too high", func(r *ledger.Rows) { r.Mandates[0].Windows[1].Used++ }, true},
		{"total window too low", func(r *ledger.Rows) { r.Mandates[0].Windows[2].Used-- }, true},
		{"payment that was not counted", func(r *ledger.Rows) { r.Mandates[0].Windows[3].Used-- }, true},
		{"month rolled over with the window kept", func(r *ledger.Rows) { r.Mandates[0].Windows[1].Start += 100 }, true},
		{"payee's window too low", func(r *ledger.Rows) { r.Tallies[0].Used-- }, false},
		{"payee's window of another month", func(r *ledger.Rows) { r.Tallies[0].Month += 100 }, false},
		{"event counted and not there", func(r *ledger.Rows) { r.Mandates[0].EventSeq++ }, true},
		{"revoked without an event", func(r *ledger.Rows) { r.Mandates[0].Status = ledger.MandateRevoked }, true},
		{"captured without a posting", func(r *ledger.Rows) {
			r.Charges[1].Status, r.Charges[1].Rail, r.Charges[1].SettledAt = ledger.ChargeSucceeded, rail.Card, paid.SettledAt
		}, true},
		{"released without giving back", func(r *ledger.Rows) {
			r.Charges[1].Status, r.Charges[1].FailureReason = ledger.ChargeFailed, rail.CardDeclined
		}, true},
		{"fee on a card", func(r *ledger.Rows) { r.Charges[0].Fee = 1 }, false},
		{"tally too high", func(r *ledger.Rows) { r.Tallies[0].Volume++ }, false},
		{"tally of too many", func(r *ledger.Rows) { r.Tallies[0].Count++ }, false},
	} {
		b.sound(t)
		r, err := known.Changed(t.Context())
		require.NoError(t, err)
		require.Empty(t, r.Faults, fault.name)
		planted := m
		planted.Windows = slices.Clone(m.Windows)
		broken := ledger.Rows{
			Mandates: []ledger.Mandate{planted}, Charges: []ledger.Charge{paid, held}, Tallies: []ledger.Tally{tally},
		}
		fault.plant(&broken)
		b.write(t, ledger.Effects{Update: broken})
		r, err = ledger.CheckAt(t.Context(), b.store, b.clock.Now())
		require.NoError(t, err)
		require.NotEmpty(t, r.Faults, fault.name)
		if fault.fresh {
			r, err = known.Changed(t.Context())
			require.NoError(t, err)
			require.NotEmpty(t, r.Faults, fault.name)
		}
		b.write(t, ledger.Effects{Update: sound})
	}
	checkerFindsExtraRows(t, b, m, paid)
}

// checkerFindsExtraRows: a check finds postings and events that no charge explains.
func checkerFindsExtraRows(t *testing.T, b *bench, m ledger.Mandate, paid ledger.Charge) {
	t.Helper()
	for name, rows := range map[string]ledger.Rows{
		"posting too many": {Postings: []ledger.Posting{
			{ChargeID: paid.ID, N: 9, MandateID: m.ID, From: "a", To: "b", Amount: 1, At: b.clock.Now()},
		}},
		"posting of no charge": {Postings: []ledger.Posting{
			{ChargeID: "txn_none", MandateID: m.ID, From: "a", To: "b", Amount: 1, At: b.clock.Now()},
		}},
		"event too many": {Events: []ledger.Event{{
			ID: id.New(id.Event, b.clock.Now()), MandateID: m.ID, Seq: 9, Type: webhook.PaymentFailed, CreatedAt: b.clock.Now(),
		}}},
	} {
		before := len(b.faults(t))
		b.write(t, ledger.Effects{Insert: rows})
		require.Greater(t, len(b.faults(t)), before, name)
	}
}

func (b *bench) faults(t *testing.T) []string {
	t.Helper()
	r, err := ledger.CheckAt(t.Context(), b.store, b.clock.Now())
	require.NoError(t, err)
	return r.Faults
}

// write writes rows past the ledger.
func (b *bench) write(t *testing.T, e ledger.Effects) {
	t.Helper()
	var keys ledger.Keys
	for _, r := range e.Update.Mandates {
		keys.Mandates = append(keys.Mandates, r.ID)
	}
	for _, r := range e.Update.Charges {
		keys.Charges = append(keys.Charges, r.ID)
	}
	for _, r := range e.Update.Tallies {
		keys.Tallies = append(keys.Tallies, r.TallyKey)
	}
	require.NoError(t, b.store.Update(t.Context(), keys, func(*ledger.State) (ledger.Effects, error) { return e, nil }))
}

// checkerFollows: an incremental check counts what changed, across a rollover too,
// and agrees with a whole one.
func checkerFollows(t *testing.T, b *bench) {
	checker := ledger.NewChecker(b.store, b.clock.Now)
	changed := func() ledger.Report {
		t.Helper()
		r, err := checker.Changed(t.Context())
		require.NoError(t, err)
		require.Empty(t, r.Faults)
		return r
	}
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	b.settle(t, b.reserve(t, m, 10*cent), succeeded())
	require.Equal(t, 1, changed().Succeeded)
	require.Zero(t, changed().Charges, "nothing has changed")
	held := b.reserve(t, m, 20*cent)
	require.Zero(t, changed().Charges)
	pending, oldest, err := b.store.Backlog(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, pending)
	require.WithinDuration(t, held.CreatedAt, oldest, time.Millisecond)
	other := b.mandate(t, b.terms(100*cent, 1000*cent))
	b.settle(t, b.reserve(t, other, 10*cent), succeeded())
	b.clock.set(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	b.settle(t, b.reserve(t, m, 5*cent), succeeded())
	b.settle(t, held, succeeded()) // of the month before
	_, err = b.Revoke(t.Context(), m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	r := changed()
	require.Equal(t, []int{3, 6}, []int{r.Succeeded, r.Postings})
	require.Equal(t, 35*cent, r.Volume)
	require.Equal(t, 4, b.sound(t).Succeeded)
}
