package ledgertest

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// loweredLimits: a person can lower limits, never raise them, and never below what is used.
func loweredLimits(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.limited())
	b.settle(t, b.reserve(t, m, 50*cent), succeeded())
	lower := func(change func(*ledger.Terms)) error {
		to := m.Terms
		change(&to)
		_, err := b.LowerLimits(ctx, m.ID, to)
		return err
	}
	for name, change := range map[string]func(*ledger.Terms){
		"one payment": func(t *ledger.Terms) { t.MaxPerTx++ }, "month": func(t *ledger.Terms) { t.MaxMonthly++ }, "day": func(t *ledger.Terms) { t.MaxDaily++ },
		"no limit of a day": func(t *ledger.Terms) { t.MaxDaily = 0 }, "payments": func(t *ledger.Terms) { t.MaxPaymentsPerDay++ },
		"a payee": func(t *ledger.Terms) { t.MaxMonthlyPerPayee-- }, "expiry": func(t *ledger.Terms) { t.ExpiresAt = t.ExpiresAt.Add(1) },
		"payees": func(t *ledger.Terms) { t.Payees = []string{ledger.AnyPayee} }, "nothing": func(t *ledger.Terms) { t.MaxPerTx = 0 },
	} {
		require.ErrorIs(t, lower(change), ledger.ErrWidened, name)
	}
	var used *ledger.UsedError
	require.ErrorAs(t, lower(func(t *ledger.Terms) { t.MaxPerTx, t.MaxDaily = cent, 50*cent-1 }), &used)
	require.Equal(t, ledger.UsedError{Kind: ledger.DailyLimit, Used: int64(50 * cent)}, *used)
	stored, err := b.Mandate(ctx, m.ID)
	require.NoError(t, err)
	require.Equal(t, m.Terms, stored.Terms, "a refused change leaves all as it was")

	change := func(t *ledger.Terms) {
		t.MaxPerTx, t.MaxMonthly, t.MaxDaily, t.MaxPaymentsPerDay = 20*cent, 90*cent, 60*cent, 2
	}
	for range 2 {
		require.NoError(t, lower(change))
	}
	change(&m.Terms)
	stored, err = b.Mandate(ctx, m.ID)
	require.NoError(t, err)
	require.Equal(t, m.Terms, stored.Terms)
	require.Equal(t, []int64{50, 50, 50, 1}, b.used(t, m))
	for _, kind := range ledger.WindowKinds {
		w, _ := stored.Window(kind, stored.CountingDay(b.clock.Now()))
		require.Equal(t, m.Terms.Cap(kind), w.Cap)
	}
	b.refused(t, b.request(m, 21*cent), ledger.PerTxLimit)
	b.refused(t, b.request(m, 11*cent), ledger.DailyLimit)
	b.settle(t, b.reserve(t, m, 10*cent), succeeded())
	b.refused(t, b.request(m, cent), ledger.DailyLimit)
	b.sound(t)

	_, err = b.Revoke(ctx, m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	var refusal *ledger.Refusal
	require.ErrorAs(t, lower(change), &refusal)
	require.Equal(t, ledger.MandateIsRevoked, refusal.Code)
	_, err = b.LowerLimits(ctx, "del_none", m.Terms)
	require.ErrorIs(t, err, ledger.ErrNotFound)
}

// lowerRacesCharges: however charges race a lower limit, what is used is within it.
func lowerRacesCharges(t *testing.T, b *bench) {
	m := b.mandate(t, b.limited())
	to := m.Terms
	to.MaxDaily, to.MaxPaymentsPerDay = 60*cent, 3
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r, err := b.Reserve(t.Context(), b.request(m, 20*cent))
			var refusal *ledger.Refusal
			switch {
			case err == nil:
				b.settle(t, r.Charge, succeeded())
			case !errors.As(err, &refusal):
				t.Error(err)
			}
		})
	}
	var used *ledger.UsedError
	_, err := b.LowerLimits(t.Context(), m.ID, to)
	all.Wait()
	if errors.As(err, &used) {
		to = m.Terms
	} else {
		require.NoError(t, err)
	}
	stored, err := b.Mandate(t.Context(), m.ID)
	require.NoError(t, err)
	require.Equal(t, to, stored.Terms)
	for _, w := range stored.Windows {
		require.LessOrEqual(t, w.Used, w.Cap, w.Kind)
	}
	b.sound(t)
}
