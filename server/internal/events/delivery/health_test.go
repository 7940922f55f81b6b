package delivery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/internal/events/delivery"
)

// TestSchedule: each retry after its wait, with a tenth more at most; the eleventh
// attempt is the last.
func TestSchedule(t *testing.T) {
	t.Parallel()
	for attempts, wait := range []time.Duration{
		5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour,
		20 * time.Hour, 24 * time.Hour,
	} {
		differ := map[time.Duration]bool{}
		for range 100 {
			got, again := delivery.RetryIn(attempts + 1)
			require.True(t, again)
			require.GreaterOrEqual(t, got, wait)
			require.Less(t, got, wait+wait/10)
			differ[got] = true
		}
		require.Greater(t, len(differ), 1, "what failed together does not come together again")
	}
	_, again := delivery.RetryIn(11)
	require.False(t, again)
}

// TestBreaker: an endpoint is left alone from the tenth failure in a row on, for a
// minute at most.
func TestBreaker(t *testing.T) {
	t.Parallel()
	for failures := range 10 {
		require.Zero(t, delivery.PauseAfter(failures))
	}
	last := time.Duration(0)
	for failures := 10; failures < 1000; failures++ {
		pause := delivery.PauseAfter(failures)
		require.GreaterOrEqual(t, pause, max(last, time.Second))
		require.LessOrEqual(t, pause, time.Minute)
		last = pause
	}
	require.Equal(t, time.Minute, last)
}
