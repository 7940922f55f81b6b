package clock_test

import (
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
		require.Equal(t, time.Second, clock.System{}.Now().Sub(began))
	})
}
