package ledgertest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// instances are n ledgers on the bench's database, as n processes would be: each
// with committers of its own, and a store of its own where the database takes
// several.
func (b *bench) instances(t *testing.T, n int) []*ledger.Ledger {
	t.Helper()
	var all []*ledger.Ledger
	for range n {
		store := b.store
		if b.another != nil {
			store = b.another(t)
			t.Cleanup(func() { require.NoError(t, store.Close()) })
		}
		l, err := ledger.New(ledger.Config{Store: store, Clock: b.clock.Now})
		require.NoError(t, err)
		t.Cleanup(l.Close)
		all = append(all, l)
	}
	return all
}

// limitAcrossInstances: charges of one mandate from several instances at once hold
// its limit to the cent.
func limitAcrossInstances(t *testing.T, b *bench) {
	at := b.instances(t, 3)
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	var won, refused atomic.Int64
	together(400, func(i int) {
		l := at[i%len(at)]
		r, err := l.Reserve(t.Context(), b.request(m, 100*cent))
		var refusal *ledger.Refusal
		switch {
		case err == nil:
			won.Add(1)
			if _, err := at[(i+1)%len(at)].Settle(t.Context(), r.Charge, succeeded()); err != nil {
				t.Error(err) // by another instance than reserved
			}
		case errors.As(err, &refusal) && refusal.Code == ledger.MonthlyLimit:
			refused.Add(1)
		default:
			t.Error(err)
		}
	})
	require.EqualValues(t, 100, won.Load())
	require.EqualValues(t, 300, refused.Load())
	require.Equal(t, 10_000*cent, b.spent(t, m))
	require.Equal(t, 100, b.sound(t).Succeeded)
}

// keyAcrossInstances: a key is used once, whichever instance is asked first; also
// where the requests name two mandates, so that no lock is common to them.
func keyAcrossInstances(t *testing.T, b *bench) {
	at := b.instances(t, 3)
	one, two := b.mandate(t, b.terms(100*cent, 10_000*cent)), b.mandate(t, b.terms(100*cent, 10_000*cent))
	for range 20 {
		r := b.request(one, 10*cent)
		var won, running, mismatched atomic.Int64
		together(12, func(i int) {
			mine := r
			mine.ChargeID = id.New(id.Charge, b.clock.Now())
			if i%4 == 3 {
				mine.MandateID, mine.Fingerprint = two.ID, "of the other mandate"
			}
			_, err := at[i%len(at)].Reserve(t.Context(), mine)
			switch {
			case err == nil:
				won.Add(1)
			case errors.Is(err, ledger.ErrIdempotencyInProgress):
				running.Add(1)
			case errors.Is(err, ledger.ErrIdempotencyMismatch):
				mismatched.Add(1)
			default:
				t.Error(err)
			}
		})
		require.EqualValues(t, 1, won.Load())
		require.EqualValues(t, 11, running.Load()+mismatched.Load())
	}
	require.Equal(t, 200*cent, b.spent(t, one)+b.spent(t, two))
	require.Equal(t, 20, b.sound(t).Pending)
}

// deadInstance: of the instances that find the charges of a dead one, each charge
// is taken over by exactly one; and not before its lease has lapsed.
func deadInstance(t *testing.T, b *bench) {
	at := b.instances(t, 3)
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	const charges = 30
	for range charges {
		r := b.request(m, cent)
		_, err := at[0].Reserve(t.Context(), r)
		require.NoError(t, err)
	}
	at[0].Close()
	require.Empty(t, b.takeOver(t, at[1:]), "its leases still run")
	b.clock.set(b.clock.Now().Add(21 * time.Second))
	taken := b.takeOver(t, at[1:])
	require.Len(t, taken, charges)
	for of, times := range taken {
		require.Equal(t, 1, times, of)
	}
	r := b.sound(t)
	require.Equal(t, []int{0, charges}, []int{r.Pending, r.Succeeded})
}

// takeOver has several workers of each instance look for lapsed charges and finish
// those that they get, and returns how often each charge was leased.
func (b *bench) takeOver(t *testing.T, at []*ledger.Ledger) map[string]int {
	t.Helper()
	var mu sync.Mutex
	taken := map[string]int{}
	together(4*len(at), func(i int) {
		l, ctx := at[i%len(at)], context.Background()
		lapsed, err := l.Lapsed(ctx, b.clock.Now(), nil, 1000)
		if err != nil {
			t.Error(err)
		}
		for _, c := range lapsed {
			c, got, err := l.Lease(ctx, c, b.clock.Now().Add(time.Minute))
			if err != nil {
				t.Error(err)
			}
			if !got {
				continue
			}
			mu.Lock()
			taken[c.ID]++
			mu.Unlock()
			if _, err := l.Settle(ctx, c, succeeded()); err != nil {
				t.Error(err)
			}
		}
	})
	return taken
}

// settledByTwo: two instances that both settle a charge end it once, as the first
// one reported.
func settledByTwo(t *testing.T, b *bench) {
	at := b.instances(t, 2)
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	var conflicts atomic.Int64
	for range 20 {
		c := b.reserve(t, m, 10*cent)
		var ends [2]ledger.Charge
		together(2, func(i int) {
			end := succeeded()
			if i == 1 {
				end = declined()
			}
			var err error
			ends[i], err = at[i].Settle(t.Context(), c, end)
			if errors.Is(err, ledger.ErrConflictingOutcome) {
				conflicts.Add(1)
			} else if err != nil {
				t.Error(err)
			}
		})
		require.Equal(t, ends[0].Status, ends[1].Status)
	}
	require.EqualValues(t, 20, conflicts.Load(), "each second outcome is an error")
	r := b.sound(t)
	require.Equal(t, 20, r.Succeeded+r.Failed)
	require.Equal(t, ledger.Micros(r.Succeeded)*10*cent, b.spent(t, m))
}

// revokeOnAnother: once one instance has answered that a mandate is revoked, no
// other begins a charge.
func revokeOnAnother(t *testing.T, b *bench) {
	at := b.instances(t, 2)
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	var revoked atomic.Bool
	together(60, func(i int) {
		if i == 30 {
			if _, err := at[0].Revoke(t.Context(), m.ID, ledger.RevokedByUser); err != nil {
				t.Error(err)
			}
			revoked.Store(true)
			return
		}
		after := revoked.Load()
		_, err := at[1].Reserve(t.Context(), b.request(m, cent))
		var refusal *ledger.Refusal
		if err != nil && (!errors.As(err, &refusal) || refusal.Code != ledger.MandateIsRevoked) {
			t.Error(err)
		}
		if err == nil && after {
			t.Error("a charge began after its mandate had been revoked")
		}
	})
	b.sound(t)
}
