package ledgertest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// pausedMandate: charges and captures on the chain are refused and no further rail is asked
// until the person resumes it, and nothing that is used of a limit changes.
func pausedMandate(t *testing.T, b *bench) {
	ctx := t.Context()
	terms := b.terms(100*cent, 1000*cent)
	terms.Rails = []rail.Name{rail.Card, rail.Chain}
	m := b.mandate(t, terms)
	pending := b.reserve(t, m, 10*cent)
	pause := func(yes bool) ledger.Mandate {
		t.Helper()
		got, err := b.Pause(ctx, m.ID, yes)
		require.NoError(t, err)
		stored, err := b.Mandate(ctx, m.ID)
		require.NoError(t, err)
		require.Equal(t, got, stored)
		require.Equal(t, yes, !stored.PausedAt.IsZero())
		return stored
	}
	first := pause(true)
	require.Equal(t, first, pause(true), "repeating it changes nothing")
	b.refused(t, b.request(m, cent), ledger.MandateIsPaused)
	b.refused(t, b.request(m, 101*cent), ledger.MandateIsPaused)
	may, err := b.NextRail(ctx, pending, pending.Attempt+1)
	require.NoError(t, err)
	require.False(t, may, "no further rail is asked while it is paused")
	b.settle(t, pending, succeeded())
	b.sound(t)

	pause(false)
	b.settle(t, b.reserve(t, m, 20*cent), succeeded())
	stored, err := b.Mandate(ctx, m.ID)
	require.NoError(t, err)
	require.Equal(t, 30*cent, stored.SpentInMonth(b.clock.Now()))
	b.sound(t)

	pause(true)
	_, err = b.Revoke(ctx, m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	b.refused(t, b.request(m, cent), ledger.MandateIsRevoked)
	var refusal *ledger.Refusal
	for _, yes := range []bool{true, false} {
		_, err = b.Pause(ctx, m.ID, yes)
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, ledger.MandateIsRevoked, refusal.Code)
	}
	for range 2 {
		_, err = b.ForgetEmail(ctx, m.ID)
		require.NoError(t, err)
	}
	stored, err = b.Mandate(ctx, m.ID)
	require.NoError(t, err)
	require.Empty(t, stored.Email)
	_, err = b.ForgetEmail(ctx, "del_none")
	require.ErrorIs(t, err, ledger.ErrNotFound)
	_, err = b.Pause(ctx, "del_none", true)
	require.ErrorIs(t, err, ledger.ErrNotFound)
	b.sound(t)
}
