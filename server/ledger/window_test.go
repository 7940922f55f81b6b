package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
)

func TestWindowsRenewAtTheirBoundariesInUTC(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 14*3600)
	d := ledger.DayOf(time.Date(2027, 1, 1, 5, 0, 0, 0, east))
	require.Equal(t, ledger.Day(20261231), d)
	require.Equal(t, ledger.Month(202612), d.Month())
	midnight := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	for kind, renews := range map[ledger.WindowKind]time.Time{
		ledger.DailyLimit: midnight, ledger.MonthlyLimit: midnight, ledger.VelocityLimit: midnight, ledger.PayeeLimit: midnight, ledger.TotalLimit: {},
	} {
		w := ledger.Window{Kind: kind, Cap: 10, Used: 7}.At(d)
		if kind == ledger.TotalLimit {
			require.Equal(t, int64(3), w.Left(), kind)
		} else {
			require.Equal(t, int64(10), w.Left(), kind)
		}
		require.Equal(t, renews, w.RenewsAt(), kind)
	}
	w := ledger.Window{Kind: ledger.DailyLimit, Cap: 10}.At(20261130)
	require.Equal(t, time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), w.RenewsAt())
}

// TestClockThatGoesBackResetsNoWindow: a charge at an earlier time counts in the latest day
// that another charge has counted in.
func TestClockThatGoesBackResetsNoWindow(t *testing.T) {
	t.Parallel()
	m := ledger.Mandate{Windows: []ledger.Window{
		{Kind: ledger.DailyLimit, Cap: 10, Start: 20261122, Used: 4}, {Kind: ledger.MonthlyLimit, Cap: 20, Start: 20261100, Used: 9},
	}}
	for _, now := range []time.Time{time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} {
		d := m.CountingDay(now)
		require.Equal(t, ledger.Day(20261122), d)
		require.Equal(t, ledger.Micros(9), m.SpentInMonth(now))
		daily, ok := m.Window(ledger.DailyLimit, d)
		require.True(t, ok)
		require.Equal(t, int64(6), daily.Left())
	}
	_, ok := m.Window(ledger.TotalLimit, 20261122)
	require.False(t, ok)
}
