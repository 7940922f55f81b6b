package railtest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
)

// connection connects a method with a new reference.
func (b *bench) connection(method string) rail.Connection {
	return rail.Connection{Reference: b.reference(), Method: method, Email: "payer@example.com"}
}

// connectsOnce: the same reference connects the same instrument, for every caller.
func connectsOnce(t *testing.T, b *bench) {
	c := b.connection(b.Works)
	var mu sync.Mutex
	got := map[rail.Instrument]int{}
	together(16, func(int) {
		instrument, err := b.Rail.Connect(t.Context(), c)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			got[instrument]++
		}
	})
	require.Len(t, got, 1)
	b.restart(t)
	again, err := b.Rail.Connect(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, 16, got[again])
}

// connectUnknown: an unknown method is not reported as a refusal.
func connectUnknown(t *testing.T, b *bench) {
	_, err := b.Rail.Connect(t.Context(), b.connection("no such method"))
	require.ErrorIs(t, err, rail.ErrUnknownMethod)
	var refused *rail.RefusedError
	require.NotErrorAs(t, err, &refused)
}

// connectRefused: a refusal has its reason, and stays when the call is repeated.
func connectRefused(t *testing.T, b *bench) {
	if b.RefusedAtConnect == "" {
		t.Skip("the rail refuses no method when it is connected")
	}
	c := b.connection(b.RefusedAtConnect)
	for range 3 {
		_, err := b.Rail.Connect(t.Context(), c)
		var refused *rail.RefusedError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, b.ConnectReason, refused.Reason)
		b.restart(t)
	}
}

// connectChanged: a reference connects one method, and the first one stays.
func connectChanged(t *testing.T, b *bench) {
	c := b.connection(b.Works)
	first, err := b.Rail.Connect(t.Context(), c)
	require.NoError(t, err)
	changed := c
	changed.Email = "other@example.com"
	_, err = b.Rail.Connect(t.Context(), changed)
	require.ErrorIs(t, err, rail.ErrReferenceReused)
	again, err := b.Rail.Connect(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, first, again)
}

// connectCancelled: a canceled caller gets no definite result, and may repeat the call.
func connectCancelled(t *testing.T, b *bench) {
	c := b.connection(b.Works)
	_, err := b.Rail.Connect(cancelled(t), c)
	requireUnknown(t, rail.Outcome{}, err)
	_, err = b.Rail.Connect(t.Context(), c)
	require.NoError(t, err)
}
