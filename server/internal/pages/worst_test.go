package pages

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	dime   = ledger.Micros(100_000)
	dollar = 10 * dime
)

func TestWorstCaseIsTheLeastThatAllWindowsAllow(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	year := ledger.Terms{MaxPerTx: 5 * dollar, MaxMonthly: 20 * dollar, Payees: []string{"mer_1"}, ExpiresAt: from.AddDate(1, 0, 0)}
	for name, tc := range map[string]struct {
		change      func(*ledger.Terms)
		month, life ledger.Micros // in dimes
	}{
		"months":          {func(*ledger.Terms) {}, 200, 13 * 200},
		"total":           {func(t *ledger.Terms) { t.MaxTotal = 100 * dollar }, 200, 1000},
		"total below":     {func(t *ledger.Terms) { t.MaxTotal = 7 * dollar }, 70, 70},
		"total above":     {func(t *ledger.Terms) { t.MaxTotal = 1000 * dollar }, 200, 2600},
		"daily":           {func(t *ledger.Terms) { t.MaxDaily = dime }, 31, 366},                // 366 days at 10 cents
		"daily and month": {func(t *ledger.Terms) { t.MaxDaily = 1 * dollar }, 200, 90 + 12*200}, // 9 days of November are left
		"daily above":     {func(t *ledger.Terms) { t.MaxDaily = 100 * dollar }, 200, 2600},
		"payments":        {func(t *ledger.Terms) { t.MaxPerTx, t.MaxPaymentsPerDay = dime, 1 }, 31, 366},
		"many payments":   {func(t *ledger.Terms) { t.MaxPaymentsPerDay = 1_000_000 }, 200, 2600},
		"one payee":       {func(t *ledger.Terms) { t.MaxMonthlyPerPayee = 6 * dollar }, 60, 13 * 60},
		"two payees":      {func(t *ledger.Terms) { t.MaxMonthlyPerPayee, t.Payees = 6*dollar, []string{"mer_1", "mer_2"} }, 120, 13 * 120},
		"any payee":       {func(t *ledger.Terms) { t.MaxMonthlyPerPayee, t.Payees = 6*dollar, []string{ledger.AnyPayee} }, 200, 2600},
		"one day":         {func(t *ledger.Terms) { t.ExpiresAt, t.MaxDaily = from.Add(time.Hour), 3*dollar }, 200, 30},
		"midnight": {func(t *ledger.Terms) {
			t.ExpiresAt, t.MaxDaily = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC), 3*dollar
		}, 200, 30},
		"expired": {func(t *ledger.Terms) { t.ExpiresAt = from.Add(-time.Hour) }, 200, 200},
	} {
		terms := year
		tc.change(&terms)
		require.Equal(t, tc.month*dime, inDays(terms, 31), name)
		require.Equal(t, tc.life*dime, worstCase(terms, from), name)
	}
	year.MaxTotal = 100 * dollar
	require.Equal(t, "At most $20.00 a month to Weather & Co, at most $100.00 until 22 November 2027.", worst(year, from, "Weather & Co"))
	year.RoundUpRest = true
	require.Equal(t, "At most $20.00 a month to Weather & Co, at most $100.00 until 22 November 2027. "+
		"At the end, a remainder of small payments below $0.50 is charged as $0.50, once.", worst(year, from, "Weather & Co"))
	require.Contains(t, worst(year, from, anyone), "once for each who was paid.")
}

func TestWorstCaseOfTheLargestLimitsDoesNotOverflow(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	terms := ledger.Terms{
		MaxPerTx: 100_000 * dollar, MaxMonthly: 100_000 * dollar, Payees: []string{"mer_1"}, ExpiresAt: from.AddDate(2, 0, 0),
		Limits: ledger.Limits{MaxDaily: 100_000 * dollar, MaxPaymentsPerDay: 1_000_000, MaxMonthlyPerPayee: 100_000 * dollar},
	}
	require.Equal(t, 25*100_000*dollar, worstCase(terms, from))
}

// Random charges that the windows allow never add up to more than the worst case.
func TestNoChargesExceedTheWorstCase(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(n int64) ledger.Micros {
		if r.IntN(2) == 0 {
			return 0
		}
		return ledger.Micros(1 + r.Int64N(n))
	}
	for range 300 {
		from := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), 0, 0, 0, time.UTC)
		terms := ledger.Terms{
			MaxPerTx: ledger.Micros(1 + r.Int64N(50)), MaxMonthly: ledger.Micros(50 + r.Int64N(200)), Payees: []string{"mer_1"},
			ExpiresAt: from.AddDate(0, 0, 1+r.IntN(90)),
			Limits:    ledger.Limits{MaxDaily: pick(30), MaxTotal: pick(500), MaxPaymentsPerDay: int64(pick(3)), MaxMonthlyPerPayee: pick(300)},
		}
		var total, month, today ledger.Micros
		var count int64
		for at := from; at.Before(terms.ExpiresAt); at = at.Add(time.Hour) {
			if at.Hour() == 0 {
				today, count = 0, 0
			}
			if at.Hour() == 0 && at.Day() == 1 {
				month = 0
			}
			for range 4 {
				amount := terms.MaxPerTx
				for _, left := range []ledger.Micros{
					terms.MaxMonthly - month, left(terms.MaxDaily, today), left(terms.MaxTotal, total), left(terms.MaxMonthlyPerPayee, month),
				} {
					amount = min(amount, left)
				}
				if amount <= 0 || terms.MaxPaymentsPerDay > 0 && count >= terms.MaxPaymentsPerDay {
					break
				}
				total, month, today, count = total+amount, month+amount, today+amount, count+1
			}
		}
		require.LessOrEqual(t, total, worstCase(terms, from), "%+v from %s", terms, from)
	}
}

func left(limit, used ledger.Micros) ledger.Micros {
	if limit == 0 {
		return 1 << 40
	}
	return limit - used
}
