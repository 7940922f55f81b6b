package events_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/events"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// TestWhoReadsOnMissesNothing: an event that was made before another one, and is
// committed after it, comes after it in the list too.
func TestWhoReadsOnMissesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	var made []ledger.Event
	for range 3 {
		made = append(made, b.events(id.New(id.Mandate, b.clock.Now()), 1)...)
		b.clock.Advance(time.Hour)
	}
	ids := func(before, after string) (listed []string) {
		list, err := b.Events(t.Context(), merchant, before, after, 10, 0)
		require.NoError(t, err)
		for _, e := range list {
			listed = append(listed, e.ID)
		}
		return listed
	}
	b.commit(t, made[1:2])
	require.Equal(t, []string{made[1].ID}, ids("", ""))
	b.commit(t, made[:1])
	b.commit(t, made[2:])
	require.Equal(t, []string{made[2].ID, made[0].ID}, ids("", made[1].ID))
	require.Equal(t, []string{made[0].ID, made[1].ID}, ids(made[2].ID, ""))
	require.Equal(t, []string{made[0].ID}, ids(made[2].ID, made[1].ID))

	b.clock.Advance(ledger.Keep - 150*time.Minute)
	require.Equal(t, []string{made[2].ID, made[1].ID}, ids("", ""), "what is older than thirty days is not listed")
	_, err := b.Events(t.Context(), merchant, made[0].ID, "", 10, 0)
	require.ErrorIs(t, err, ledger.ErrNotFound)
}

// counted is a store that counts how often events are listed.
type counted struct {
	events.Store

	lists atomic.Int64
}

func (c *counted) Events(ctx context.Context, merchantID string, since time.Time, before, after int64, limit int) ([]ledger.Event, error) {
	c.lists.Add(1)
	return c.Store.Events(ctx, merchantID, since, before, after, limit)
}

// TestWaitersAreWokenByEvents: those who wait do not ask the store over and over, and
// are woken at once by new events.
func TestWaitersAreWokenByEvents(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.Close()
	store := &counted{Store: b.cfg.Store}
	b.cfg.Store = store
	b.begin(t)
	const waiters = 40
	var all sync.WaitGroup
	var heard atomic.Int64
	for range waiters {
		all.Go(func() {
			list, err := b.Events(t.Context(), merchant, "", "", 10, time.Minute)
			if err == nil && len(list) == 1 {
				heard.Add(1)
			}
		})
	}
	require.Eventually(t, func() bool { return store.lists.Load() >= waiters }, 10*time.Second, time.Millisecond)
	require.Never(t, func() bool { return store.lists.Load() > 2*waiters }, 500*time.Millisecond, 50*time.Millisecond,
		"nothing happens, so nothing is asked")
	b.insert(t, b.events(id.New(id.Mandate, b.clock.Now()), 1))
	all.Wait()
	require.EqualValues(t, waiters, heard.Load())
}
