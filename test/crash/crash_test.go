package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNothingIsLostDoubledOrUndecided(t *testing.T) {
	kills := 25
	if testing.Short() {
		kills = 5
	}
	r, err := run(t.Context(), options{Kills: kills, Callers: 8, Seed: 7})
	t.Log(r)
	require.NoError(t, err)
	require.False(t, r.failed(), r.String())
	require.NotZero(t, r.Refused, "the tight limit was never reached")
}
