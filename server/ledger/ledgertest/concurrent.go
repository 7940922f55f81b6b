package ledgertest

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// together runs n calls at once and waits for them.
func together(n int, call func(i int)) {
	var ready, done sync.WaitGroup
	ready.Add(n)
	start := make(chan struct{})
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			call(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

func concurrentCharges(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	var won, refused atomic.Int64
	together(200, func(int) {
		r, err := b.Reserve(t.Context(), b.request(m, 100*cent))
		var refusal *ledger.Refusal
		switch {
		case err == nil:
			won.Add(1)
			_, err = b.Settle(t.Context(), r.Charge, succeeded())
			if err != nil {
				t.Error(err)
			}
		case errors.As(err, &refusal) && refusal.Code == ledger.MonthlyLimit:
			refused.Add(1)
		default:
			t.Error(err)
		}
	})
	require.EqualValues(t, 100, won.Load())
	require.EqualValues(t, 100, refused.Load())
	require.Equal(t, 10_000*cent, b.spent(t, m))
	require.Equal(t, 100, b.sound(t).Succeeded)
}

func concurrentKey(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	r := b.request(m, 10*cent)
	var won atomic.Int64
	together(50, func(int) {
		mine := r
		mine.ChargeID = id.New(id.Charge, b.clock.Now())
		_, err := b.Reserve(t.Context(), mine)
		if err == nil {
			won.Add(1)
		} else if !errors.Is(err, ledger.ErrIdempotencyInProgress) {
			t.Error(err)
		}
	})
	require.EqualValues(t, 1, won.Load())
	require.Equal(t, 10*cent, b.spent(t, m))
	require.Equal(t, 1, b.sound(t).Pending)
}

// revokeRaces: once a revocation has answered, no charge begins any more.
func revokeRaces(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	var revoked atomic.Bool
	together(40, func(i int) {
		if i == 20 {
			_, err := b.Revoke(t.Context(), m.ID, ledger.RevokedByUser)
			if err != nil {
				t.Error(err)
			}
			revoked.Store(true)
			return
		}
		after := revoked.Load()
		_, err := b.Reserve(t.Context(), b.request(m, cent))
		var refusal *ledger.Refusal
		if err != nil && (!errors.As(err, &refusal) || refusal.Code != ledger.MandateIsRevoked) {
			t.Error(err)
		}
		if err == nil && after {
			t.Error("a charge began after its mandate had been revoked")
		}
	})
	b.refused(t, b.request(m, cent), ledger.MandateIsRevoked)
	b.sound(t)
}

// randomCommands compares the ledger with a model of one mandate's counter.
func randomCommands(t *testing.T, b *bench) {
	rapid.Check(t, func(rt *rapid.T) {
		terms := b.terms(100*cent, 300*cent)
		terms.ExpiresAt = terms.ExpiresAt.AddDate(100, 0, 0)
		m := b.mandate(rt, terms)
		spent := map[ledger.Month]ledger.Micros{}
		var pending []ledger.Charge
		rt.Repeat(map[string]func(*rapid.T){
			"reserve": func(rt *rapid.T) {
				amount := ledger.Micros(rapid.Int64Range(1, int64(120*cent)).Draw(rt, "amount"))
				month := ledger.MonthOf(b.clock.Now())
				r, err := b.Reserve(t.Context(), b.request(m, amount))
				fits := amount <= 100*cent && spent[month]+amount <= 300*cent
				require.Equal(rt, fits, err == nil)
				if fits {
					spent[month] += amount
					pending = append(pending, r.Charge)
				}
			},
			"settle": func(rt *rapid.T) {
				if len(pending) == 0 {
					rt.Skip("nothing is pending")
				}
				i := rapid.IntRange(0, len(pending)-1).Draw(rt, "which")
				c, end := pending[i], succeeded()
				if rapid.Bool().Draw(rt, "declined") {
					end = declined()
					spent[c.Day.Month()] -= c.Amount
				}
				b.settle(rt, c, end)
				pending = append(pending[:i], pending[i+1:]...)
			},
			"next month": func(*rapid.T) {
				b.clock.set(b.clock.Now().AddDate(0, 1, 0))
			},
			"": func(rt *rapid.T) {
				require.Equal(rt, spent[ledger.MonthOf(b.clock.Now())], b.spent(rt, m))
			},
		})
	})
	b.sound(t)
}
