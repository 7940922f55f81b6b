package main

import (
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// TestAHistoryThatNoOrderExplainsIsFound: the drill can fail.
func TestAHistoryThatNoOrderExplainsIsFound(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		second answer
		want   porcupine.CheckResult
	}{
		"one fits, one is refused":          {answer{left: 40}, porcupine.Ok},
		"two charges beyond the limit":      {answer{charged: true}, porcupine.Illegal},
		"refused by more than what is left": {answer{left: 39}, porcupine.Illegal},
	} {
		h := &history{limit: 100, began: now}
		h.add(0, asked{cents: 60}, now, answer{charged: true})
		h.add(1, asked{cents: 60}, now, c.second)
		require.Equal(t, c.want, h.explained(), name)
	}
	h := &history{limit: 100, began: now}
	h.add(0, asked{cents: 60}, now, answer{charged: true})
	h.add(0, asked{}, time.Now(), answer{left: 100})
	require.Equal(t, porcupine.Illegal, h.explained(), "a read that comes later does not see an earlier charge")
	h = &history{limit: 100, began: now}
	h.add(0, asked{cents: 60}, now, answer{charged: true})
	h.add(0, asked{back: 20}, time.Now(), answer{})
	h.add(0, asked{}, time.Now(), answer{left: 60})
	require.Equal(t, porcupine.Ok, h.explained(), "a part of a hold is given back")
	h.add(0, asked{}, time.Now(), answer{left: 40})
	require.Equal(t, porcupine.Illegal, h.explained(), "what was given back is held again")
}
