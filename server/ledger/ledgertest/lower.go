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
		"a payee": func(t *ledger.Terms) { t.MaxMonthlyPerPayee++ }, "no limit of a payee": func(t *ledger.Terms) { t.MaxMonthlyPerPayee = 0 },
		"rest": func(t *ledger.Terms) { t.RoundUpRest = true }, "expiry": func(t *ledger.Terms) { t.ExpiresAt = t.ExpiresAt.Add(1) },
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

// addedLimits: a person can add each limit later. It counts what its period has used before, and
// is kept from then on; one for a payee counts each payee.
func addedLimits(t *testing.T, b *bench) {
	ctx := t.Context()
	terms := b.terms(100*cent, 1000*cent)
	terms.Payees = []string{ledger.AnyPayee}
	m := b.mandate(t, terms)
	other := ledger.Merchant{ID: "mer_other", Name: "Other", Active: true}
	b.settle(t, b.reserve(t, m, 30*cent), succeeded())
	b.clock.set(b.clock.Now().AddDate(0, 0, 1))
	c := b.settle(t, b.reserve(t, m, 50*cent), succeeded())
	r, _, err := b.Refund(ctx, b.refundOf(c, 10*cent, "k"))
	require.NoError(t, err)
	_, err = b.SettleRefund(ctx, r, gaveBack)
	require.NoError(t, err)
	b.settle(t, b.reserve(t, m, 5*cent), declined())
	request := b.request(m, 20*cent)
	request.Payee = other
	pending, err := b.Reserve(ctx, request)
	require.NoError(t, err)
	b.sound(t)
	lower := func(change func(*ledger.Terms)) error {
		stored, err := b.Mandate(ctx, m.ID)
		require.NoError(t, err)
		to := stored.Terms
		change(&to)
		_, err = b.LowerLimits(ctx, m.ID, to)
		return err
	}
	var used *ledger.UsedError
	for _, tc := range []struct {
		kind   ledger.WindowKind
		used   int64
		change func(*ledger.Terms, int64)
	}{
		{ledger.DailyLimit, int64(60 * cent), func(t *ledger.Terms, n int64) { t.MaxDaily = ledger.Micros(n) }},
		{ledger.TotalLimit, int64(90 * cent), func(t *ledger.Terms, n int64) { t.MaxTotal = ledger.Micros(n) }},
		{ledger.VelocityLimit, 2, func(t *ledger.Terms, n int64) { t.MaxPaymentsPerDay = n }},
		{ledger.PayeeLimit, int64(70 * cent), func(t *ledger.Terms, n int64) { t.MaxMonthlyPerPayee = ledger.Micros(n) }},
	} {
		require.ErrorAs(t, lower(func(t *ledger.Terms) { tc.change(t, tc.used-1) }), &used)
		require.Equal(t, ledger.UsedError{Kind: tc.kind, Used: tc.used}, *used)
		require.NoError(t, lower(func(t *ledger.Terms) { tc.change(t, tc.used+10) }), tc.kind)
		b.sound(t)
	}
	b.refused(t, b.request(m, 11), ledger.DailyLimit)
	b.clock.set(b.clock.Now().AddDate(0, 0, 1))
	b.refused(t, b.request(m, 11), ledger.TotalLimit)
	b.settle(t, pending.Charge, declined())
	b.refused(t, b.request(m, 11), ledger.PayeeLimit)
	request = b.request(m, 20*cent)
	request.Payee = other
	made, err := b.Reserve(ctx, request)
	require.NoError(t, err, "another payee")
	b.settle(t, made.Charge, succeeded())
	require.NoError(t, lower(func(t *ledger.Terms) { t.MaxMonthlyPerPayee = 70 * cent }))
	b.refused(t, b.request(m, 1), ledger.PayeeLimit)
	b.sound(t)
}

// addedRacesCharges: a limit that is added while charges run counts each of them.
func addedRacesCharges(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(10*cent, 10_000*cent))
	to := m.Terms
	to.Limits = ledger.Limits{MaxDaily: 500 * cent, MaxTotal: 500 * cent, MaxPaymentsPerDay: 500, MaxMonthlyPerPayee: 500 * cent}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				r, err := b.Reserve(t.Context(), b.request(m, 2*cent))
				if err == nil {
					_, err = b.Settle(t.Context(), r.Charge, succeeded())
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	_, err := b.LowerLimits(t.Context(), m.ID, to)
	all.Wait()
	if !errors.Is(err, ledger.ErrBusy) {
		require.NoError(t, err)
	} else {
		_, err = b.LowerLimits(t.Context(), m.ID, to)
		require.NoError(t, err)
	}
	require.Equal(t, []int64{80, 80, 80, 40}, b.used(t, m))
	b.sound(t)
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
