package ledgertest

import (
	"context"
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

// attemptsRefusedAtOnce: an attempt counts and its instrument is ended although the
// decision runs again, and another instance refused an attempt between both runs.
func attemptsRefusedAtOnce(t *testing.T, b *bench) {
	ctx := t.Context()
	s := b.session(t, b.terms(100*cent, 1000*cent))
	var references []string
	for _, reference := range []string{"first", "second"} {
		i, err := b.BeginInstrument(ctx, rail.Connection{Reference: reference, Session: s.Hash}, rail.Chain)
		require.NoError(t, err)
		_, err = b.ConnectedInstrument(ctx, i.Reference, rail.Instrument{Rail: rail.Chain, Method: reference})
		require.NoError(t, err)
		references = append(references, i.Reference)
	}
	repeating := &repeatingStore{Store: b.store, between: func() {
		_, err := b.RefuseAttempt(ctx, s.Hash, references[1])
		require.NoError(t, err)
	}}
	one, err := ledger.New(ledger.Config{Store: repeating, Clock: b.clock.Now})
	require.NoError(t, err)
	defer one.Close()
	after, err := one.RefuseAttempt(ctx, s.Hash, references[0])
	require.NoError(t, err)
	require.Equal(t, 2, after.Attempts)
	instruments, err := b.InstrumentsOfSession(ctx, s.Hash)
	require.NoError(t, err)
	require.Len(t, instruments, 2)
	for _, i := range instruments {
		require.Equal(t, ledger.Disconnecting, i.State, i.Reference)
	}
}

// repeatingStore runs the first decision twice, as a store does after a deadlock: the
// first run saves nothing. It calls between after the first run.
type repeatingStore struct {
	ledger.Store

	between func()
}

func (s *repeatingStore) Update(ctx context.Context, k ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	if between := s.between; between != nil {
		s.between = nil
		err := s.Store.Update(ctx, k, func(state *ledger.State) (ledger.Effects, error) {
			_, err := decide(state)
			return ledger.Effects{}, err
		})
		if err != nil {
			return err
		}
		between()
	}
	return s.Store.Update(ctx, k, decide)
}
