package events_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
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
