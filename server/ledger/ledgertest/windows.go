package ledgertest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// windowsRefuse: each limit refuses what exceeds it, in its order, with what is left and
// when it renews; and renews then.
func windowsRefuse(t *testing.T, b *bench) {
	b.clock.set(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))
	terms := b.terms(100*cent, 300*cent)
	terms.Payees = []string{ledger.AnyPayee}
	terms.Limits = ledger.Limits{MaxDaily: 150 * cent, MaxTotal: 500 * cent, MaxPaymentsPerDay: 3, MaxMonthlyPerPayee: 240 * cent}
	m := b.mandate(t, terms)
	charge := func(amount ledger.Micros, payee ledger.Merchant) *ledger.Refusal {
		r := b.request(m, amount)
		r.Payee = payee
		reserved, err := b.Reserve(t.Context(), r)
		var refusal *ledger.Refusal
		if !errors.As(err, &refusal) {
			require.NoError(t, err)
			b.settle(t, reserved.Charge, succeeded())
			return nil
		}
		refusal.RequestID = ""
		return refusal
	}
	shop, other := b.merchant, ledger.WalletPayee("0x00000000000000000000000000000000000000b1")
	tomorrow, december := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)

	require.Nil(t, charge(100*cent, shop))
	require.Equal(t, &ledger.Refusal{Code: ledger.DailyLimit, Limit: 150 * cent, Remaining: 50 * cent, RenewsAt: tomorrow}, charge(51*cent, shop))
	require.Nil(t, charge(cent, shop))
	require.Nil(t, charge(cent, shop))
	require.Equal(t, &ledger.Refusal{Code: ledger.VelocityLimit, MaxPayments: 3, RenewsAt: tomorrow}, charge(cent, shop))
	b.clock.set(tomorrow)
	require.Nil(t, charge(100*cent, shop))
	require.Equal(t, &ledger.Refusal{Code: ledger.PayeeLimit, Limit: 240 * cent, Remaining: 38 * cent, RenewsAt: december}, charge(39*cent, shop))
	require.Nil(t, charge(50*cent, other))
	b.clock.set(december)
	require.Nil(t, charge(100*cent, shop))
	b.clock.set(december.AddDate(0, 0, 1))
	require.Nil(t, charge(100*cent, other))
	b.clock.set(december.AddDate(0, 0, 2))
	require.Equal(t, &ledger.Refusal{Code: ledger.TotalLimit, Limit: 500 * cent, Remaining: 48 * cent}, charge(49*cent, shop))
	require.Nil(t, charge(48*cent, shop))
	b.sound(t)
}

// releasesGiveBackToEachWindow: a charge that fails gives back to those windows in which it
// counts, and to no later ones.
func releasesGiveBackToEachWindow(t *testing.T, b *bench) {
	b.clock.set(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))
	m := b.mandate(t, b.limited())
	first, second := b.reserve(t, m, 10*cent), b.reserve(t, m, 20*cent)
	b.settle(t, first, declined())
	used := func() (all []int64) {
		m, err := b.Mandate(t.Context(), m.ID)
		require.NoError(t, err)
		for _, w := range m.Windows {
			all = append(all, w.Used)
		}
		return all
	}
	require.Equal(t, []int64{int64(20 * cent), int64(20 * cent), int64(20 * cent), 1}, used())
	b.clock.set(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	b.settle(t, b.reserve(t, m, 30*cent), succeeded())
	b.settle(t, second, declined())
	require.Equal(t, []int64{int64(30 * cent), int64(30 * cent), int64(30 * cent), 1}, used())
	b.sound(t)
}

// concurrentWindows: whatever races, each window is used up to the micro-dollar and
// not beyond.
func concurrentWindows(t *testing.T, b *bench) {
	const callers = 64
	for name, set := range map[string]func(*ledger.Limits){
		"daily":    func(l *ledger.Limits) { l.MaxDaily = 20 * cent },
		"total":    func(l *ledger.Limits) { l.MaxTotal = 20 * cent },
		"velocity": func(l *ledger.Limits) { l.MaxPaymentsPerDay = 20 },
		"payee":    func(l *ledger.Limits) { l.MaxMonthlyPerPayee = 20 * cent },
	} {
		terms := b.terms(100*cent, 1000*cent)
		set(&terms.Limits)
		m := b.mandate(t, terms)
		var granted atomic.Int64
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				if _, err := b.Reserve(context.Background(), b.request(m, cent)); err == nil {
					granted.Add(1)
				}
			})
		}
		all.Wait()
		require.Equal(t, int64(20), granted.Load(), name)
	}
	b.sound(t)
}
