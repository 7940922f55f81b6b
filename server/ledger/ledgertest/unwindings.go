package ledgertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// refusedAttemptsAreUnwound: what a refused attempt has connected is ended at once,
// also if the person has begun with another method by then.
func refusedAttemptsAreUnwound(t *testing.T, b *bench) {
	ctx := t.Context()
	s := b.session(t, b.terms(100*cent, 1000*cent))
	begin := func(reference string) string {
		i, err := b.BeginInstrument(ctx, rail.Connection{Reference: reference, Session: s.Hash}, rail.Chain)
		require.NoError(t, err)
		_, err = b.ConnectedInstrument(ctx, i.Reference, rail.Instrument{Rail: rail.Chain, Method: reference})
		require.NoError(t, err)
		return i.Reference
	}
	first := begin("first")
	refused := b.clock.Now()
	_, err := b.RefuseAttempt(ctx, s.Hash, first)
	require.NoError(t, err)
	b.clock.set(refused.Add(time.Second))
	begin("second")
	backlog, err := b.UnwindingBacklog(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, backlog.Count)
	require.WithinDuration(t, refused, backlog.Oldest, time.Millisecond)

	due, err := b.Unwinds(ctx, time.Minute, 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	ending, err := b.EndInstruments(ctx, s.Hash, []string{first})
	require.NoError(t, err)
	require.Len(t, ending, 1)

	begin("third") // while the row is leased
	require.NoError(t, b.Unwound(ctx, due[0], time.Time{}))
	b.clock.set(refused.Add(2 * time.Minute))
	due, err = b.Unwinds(ctx, time.Minute, 10)
	require.NoError(t, err)
	require.Len(t, due, 1, "it was made necessary again under the lease")

	due[0].Since = s.ExpiresAt // as by a worker that has nothing left to do
	require.NoError(t, b.Unwound(ctx, due[0], s.ExpiresAt))
	backlog, err = b.UnwindingBacklog(ctx)
	require.NoError(t, err)
	require.Equal(t, ledger.UnwindingBacklog{}, backlog)
	b.clock.set(s.ExpiresAt)
	due, err = b.Unwinds(ctx, time.Minute, 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
}
