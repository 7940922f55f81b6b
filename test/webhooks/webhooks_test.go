package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBadReceiverLosesNothing(t *testing.T) {
	events := 600
	if testing.Short() {
		events = 200
	}
	r, err := deliver(t.Context(), options{Events: events, Seed: 7})
	t.Log(r)
	require.NoError(t, err)
	require.False(t, r.failed(), r.String())
}

func TestKilledWhileDeliveringLosesNothing(t *testing.T) {
	kills := 8
	if testing.Short() {
		kills = 2
	}
	r, err := kill(t.Context(), options{Kills: kills, Seed: 7})
	t.Log(r)
	require.NoError(t, err)
	require.False(t, r.failed(), r.String())
}
