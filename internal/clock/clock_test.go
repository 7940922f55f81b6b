package clock_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/clock"
)

func TestMovableGoesOnFromItsOffset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var m clock.Movable
		began := time.Now()
		require.Equal(t, began, m.Now())
		m.Advance(time.Hour)
		time.Sleep(time.Second)
		require.Equal(t, time.Hour+time.Second, m.Now().Sub(began))
	})
}

func TestClockIsNeverMovedPastItsEnd(t *testing.T) {
	t.Parallel()
	var c clock.Movable
	for range 40 {
		c.Advance(10 * 366 * 24 * time.Hour)
	}
	require.WithinDuration(t, clock.Last, c.Now(), time.Minute)
	c.Advance(math.MaxInt64)
	require.WithinDuration(t, clock.Last, c.Now(), time.Minute)
	for range 4 {
		c.Advance(math.MinInt64)
	}
	require.Greater(t, c.Now().Year(), 1900)
}

func TestClockIsMovedByTheSum(t *testing.T) {
	t.Parallel()
	var c clock.Movable
	c.Advance(time.Hour)
	c.Advance(30 * time.Minute)
	c.Advance(-time.Minute)
	require.WithinDuration(t, time.Now().Add(89*time.Minute), c.Now(), time.Minute)
}
