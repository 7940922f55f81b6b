package railtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
)

// cancelledIsNoRefusal: a canceled caller gets no definite result, and learns the outcome
// by repeating the call.
func cancelledIsNoRefusal(t *testing.T, b *bench) {
	c := b.charge(b.connect(t, b.Works))
	outcome, err := b.Rail.Charge(cancelled(t), c)
	requireUnknown(t, outcome, err)
	outcome, err = b.Rail.Lookup(cancelled(t), c.Reference)
	requireUnknown(t, outcome, err)
	requireSucceeded(t, b.pay(t, c))
	require.Equal(t, b.Amount, b.Moved(t))
}

// givenUpMidway: callers give up at any moment. Repeating their calls leads to one outcome,
// and the money moves once.
func givenUpMidway(t *testing.T, b *bench) {
	const n = 24
	instrument := b.connect(t, b.Works)
	var sum rail.Micros
	for i := range n {
		c := b.charge(instrument)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*i)*10*time.Microsecond)
		outcome, err := b.Rail.Charge(ctx, c)
		cancel()
		if err != nil {
			requireUnknown(t, outcome, err)
		}
		requireSucceeded(t, b.pay(t, c))
		sum += b.Amount
	}
	require.Equal(t, sum, b.Moved(t))
}

// restartForgetsNothing: the next process knows what this one returned.
func restartForgetsNothing(t *testing.T, b *bench) {
	c := b.charge(b.connect(t, b.Works))
	first := b.pay(t, c)
	requireSucceeded(t, first)
	b.restart(t)
	found, err := b.Rail.Lookup(t.Context(), c.Reference)
	require.NoError(t, err)
	require.Equal(t, first, found)
	require.Equal(t, first, b.pay(t, c))
	require.Equal(t, b.Amount, b.Moved(t))
	requireSucceeded(t, b.pay(t, b.charge(c.Instrument)))
	require.Equal(t, 2*b.Amount, b.Moved(t))
}

// restartAmidCharges: the rail ends during charges. Those with an outcome keep it, the
// others are finished by repeating the call, and each moves money once.
func restartAmidCharges(t *testing.T, b *bench) {
	const n = 30
	instrument := b.connect(t, b.Works)
	charges := make([]rail.Charge, n)
	for i := range charges {
		charges[i] = b.charge(instrument)
	}
	dying := b.Rail
	started := make(chan struct{}, n)
	outcomes, errs := make([]rail.Outcome, n), make([]error, n)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		together(n, func(i int) {
			started <- struct{}{}
			outcomes[i], errs[i] = dying.Charge(t.Context(), charges[i])
		})
	}()
	<-started
	b.restart(t)
	<-ended
	for i, c := range charges {
		again := b.pay(t, c)
		requireSucceeded(t, again)
		if errs[i] == nil {
			require.Equal(t, b.end(t, c.Reference, outcomes[i]), again)
		} else {
			requireUnknown(t, outcomes[i], errs[i])
		}
	}
	require.Equal(t, n*b.Amount, b.Moved(t))
}
