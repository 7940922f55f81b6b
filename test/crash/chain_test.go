package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The service dies between broadcast and receipt, and comes back: one transfer on
// the chain, one captured charge.
func TestKilledBetweenBroadcastAndReceipt(t *testing.T) {
	kills := 2 * (len(labelled) + 1)
	if testing.Short() {
		kills /= 2
	}
	r, err := runChain(t.Context(), options{Kills: kills, Callers: 4, Seed: 7})
	t.Log(r)
	require.NoError(t, err)
	require.False(t, r.failed(), r.String())
}
