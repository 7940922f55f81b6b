package railtest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
)

// chargesOnce: a repeated charge returns the outcome of the first.
func chargesOnce(t *testing.T, b *bench) {
	c := b.charge(b.connect(t, b.Works))
	first := b.pay(t, c)
	requireSucceeded(t, first)
	for range 3 {
		require.Equal(t, first, b.pay(t, c))
	}
	require.Equal(t, b.Amount, b.Moved(t))
}

// fiftyCallers: fifty concurrent charges with one reference move the money once.
func fiftyCallers(t *testing.T, b *bench) {
	c := b.charge(b.connect(t, b.Works))
	var mu sync.Mutex
	var answers []rail.Outcome
	together(50, func(int) {
		if outcome, err := b.Rail.Charge(t.Context(), c); err == nil {
			mu.Lock()
			defer mu.Unlock()
			answers = append(answers, outcome)
		}
	})
	require.Len(t, answers, 50, "without faults every caller is answered")
	last := b.pay(t, c)
	requireSucceeded(t, last)
	for _, outcome := range answers {
		require.Equal(t, last, b.end(t, c.Reference, outcome))
	}
	require.Equal(t, b.Amount, b.Moved(t))
}

// manyReferences: charges with different references do not affect each other.
func manyReferences(t *testing.T, b *bench) {
	const n = 20
	instrument := b.connect(t, b.Works)
	charges := make([]rail.Charge, n)
	for i := range charges {
		charges[i] = b.charge(instrument)
	}
	outcomes, errs := make([]rail.Outcome, n), make([]error, n)
	together(n, func(i int) { outcomes[i], errs[i] = b.Rail.Charge(t.Context(), charges[i]) })
	ids := map[string]bool{}
	for i, c := range charges {
		require.NoError(t, errs[i])
		end := b.end(t, c.Reference, outcomes[i])
		requireSucceeded(t, end)
		ids[end.ProcessorID+end.TxHash] = true
	}
	require.Len(t, ids, n, "each has an id of its own")
	require.Equal(t, n*b.Amount, b.Moved(t))
}

// refusedStays: a refusal is final for its reference, for Charge, Lookup, concurrent
// callers and the next process.
func refusedStays(t *testing.T, b *bench) {
	if b.RefusedAtCharge == "" {
		t.Skip("the rail connects no method that it refuses to charge")
	}
	c := b.charge(b.connect(t, b.RefusedAtCharge))
	first := b.pay(t, c)
	require.Equal(t, rail.Refused, first.Status)
	require.Equal(t, b.ChargeReason, first.Reason)
	require.True(t, first.SettledAt.IsZero(), "nothing was settled")
	var mu sync.Mutex
	got := map[rail.Outcome]int{}
	together(16, func(int) {
		outcome, err := b.Rail.Charge(t.Context(), c)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			got[outcome]++
		}
	})
	require.Equal(t, map[rail.Outcome]int{first: 16}, got)
	b.restart(t)
	require.Equal(t, first, b.pay(t, c))
	found, err := b.Rail.Lookup(t.Context(), c.Reference)
	require.NoError(t, err)
	require.Equal(t, first, found)
	require.Zero(t, b.Moved(t))
}

// changedParameters: a used reference never moves other money.
func changedParameters(t *testing.T, b *bench) {
	instrument, other := b.connect(t, b.Works), b.connect(t, b.Works)
	c := b.charge(instrument)
	first := b.pay(t, c)
	requireSucceeded(t, first)
	for name, change := range map[string]func(*rail.Charge){
		"amount": func(c *rail.Charge) { c.Amount *= 2 },
		"payer":  func(c *rail.Charge) { c.Instrument = other },
		"payee":  func(c *rail.Charge) { c.MerchantID = "mer_other" },
	} {
		changed := c
		change(&changed)
		outcome, err := b.Rail.Charge(t.Context(), changed)
		requireUnknown(t, outcome, err)
		require.ErrorIs(t, err, rail.ErrReferenceReused, name)
	}
	require.Equal(t, first, b.pay(t, c), "the first is unchanged")
	require.Equal(t, b.Amount, b.Moved(t))
}

// refusedIsUsedUp: after a refusal no other method moves money under the reference.
func refusedIsUsedUp(t *testing.T, b *bench) {
	if b.RefusedAtCharge == "" {
		t.Skip("the rail connects no method that it refuses to charge")
	}
	c := b.charge(b.connect(t, b.RefusedAtCharge))
	first := b.pay(t, c)
	require.Equal(t, rail.Refused, first.Status)
	changed := c
	changed.Instrument = b.connect(t, b.Works)
	outcome, err := b.Rail.Charge(t.Context(), changed)
	requireUnknown(t, outcome, err)
	require.Equal(t, first, b.pay(t, c))
	require.Zero(t, b.Moved(t))
}

// worthlessAmounts: no charge of zero or less succeeds.
func worthlessAmounts(t *testing.T, b *bench) {
	instrument := b.connect(t, b.Works)
	for _, amount := range []rail.Micros{0, -1, -b.Amount} {
		c := b.charge(instrument)
		c.Amount = amount
		if outcome, err := b.Rail.Charge(t.Context(), c); err == nil {
			require.Equal(t, rail.Refused, outcome.Status, "amount %d", amount)
			require.NotEmpty(t, outcome.Reason)
		}
	}
	require.Zero(t, b.Moved(t))
}

// unknownInstrument: an instrument that was never connected pays nothing.
func unknownInstrument(t *testing.T, b *bench) {
	instrument := b.connect(t, b.Works)
	instrument.Method = "no such method"
	c := b.charge(instrument)
	for range 2 {
		if outcome, err := b.Rail.Charge(t.Context(), c); err == nil {
			require.Equal(t, rail.Refused, b.end(t, c.Reference, outcome).Status)
		}
	}
	require.Zero(t, b.Moved(t))
}

// lookupUnseen: Lookup distinguishes an unknown reference from a refused one, and does not
// use the reference up.
func lookupUnseen(t *testing.T, b *bench) {
	c := b.charge(b.connect(t, b.Works))
	for range 2 {
		outcome, err := b.Rail.Lookup(t.Context(), c.Reference)
		require.NoError(t, err)
		require.Equal(t, rail.Outcome{Status: rail.Unseen}, outcome)
	}
	requireSucceeded(t, b.pay(t, c))
}

// lookupTells: Lookup returns what Charge did.
func lookupTells(t *testing.T, b *bench) {
	c := b.charge(b.connect(t, b.Works))
	paid := b.pay(t, c)
	found, err := b.Rail.Lookup(t.Context(), c.Reference)
	require.NoError(t, err)
	require.Equal(t, paid, found)
}
