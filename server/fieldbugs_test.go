package server_test

import (
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// Bugs that services of this kind have had, each shown impossible by a test of
// its name; docs/design/bugs.md lists them all.

// stores runs a test on both engines.
func stores(t *testing.T, test func(t *testing.T, kind engine)) {
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			test(t, kind)
		})
	}
}

// TestMonthRolloverAtTheSecondOfMidnightUTCWithConcurrentCharges: the month ends in
// the middle of eighty charges. No month holds more than its limit, and the new
// one holds all of it.
func TestMonthRolloverAtTheSecondOfMidnightUTCWithConcurrentCharges(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, kind engine) {
		const cents, fit, callers = 100, 10, 80
		c := setup(t, &servertest.Options{Store: kind.open})
		now := c.Clock.Now().UTC()
		midnight := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
		c.Clock.Advance(midnight.Add(-10 * time.Minute).Sub(now)) // the clock goes on while the test runs
		m := c.mandate(t, cents, fit*cents)
		pay := func() error {
			_, err := c.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: cents, Currency: client.USD, Description: "at midnight"})
			return err
		}
		for range fit / 2 { // room for the race on both sides
			require.NoError(t, pay())
		}
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				if i == callers/2 {
					c.Clock.Advance(midnight.Sub(c.Clock.Now()))
				}
				if err := pay(); err != nil {
					require.ErrorIs(t, err, client.ErrMonthlyLimit)
				}
			})
		}
		all.Wait()
		err := error(nil)
		for range fit + 1 {
			if err = pay(); err != nil {
				break
			}
		}
		require.ErrorIs(t, err, client.ErrMonthlyLimit)

		succeeded := map[ledger.Month]int{}
		for tx, err := range c.Client().Transactions(t.Context(), client.ListParams{}) {
			require.NoError(t, err)
			if tx.Status == client.Succeeded {
				succeeded[ledger.MonthOf(tx.CreatedAt)]++
			}
		}
		old, current := succeeded[ledger.MonthOf(midnight.Add(-1))], succeeded[ledger.MonthOf(midnight)]
		require.LessOrEqual(t, old, fit)
		require.GreaterOrEqual(t, old, fit/2)
		require.Equal(t, fit, current)
		require.Equal(t, fit*cents, c.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t).int("currentMonthlySpendCents"))
		c.sound(t, old+current)
	})
}

// TestIdempotencyKeyReusedWithAnotherAmount: one after the other and all at once,
// one amount is charged under a key, and once.
func TestIdempotencyKeyReusedWithAnotherAmount(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, kind engine) {
		c := setup(t, &servertest.Options{Store: kind.open})
		m := c.mandate(t, 500, 50_000)
		first := c.charge(t, m, 100, "one after the other").ok(t)
		c.charge(t, m, 200, "one after the other").refused(t, 422, "idempotency_mismatch")
		again := c.charge(t, m, 100, "one after the other").ok(t)
		require.Equal(t, first.str("transactionId"), again.str("transactionId"))

		var all sync.WaitGroup
		ids := sync.Map{}
		for i := range 20 {
			all.Go(func() {
				a := c.charge(t, m, 100+i%2, "at once")
				switch a.Status {
				case http.StatusOK:
					ids.Store(a.str("transactionId"), 100+i%2)
				case http.StatusConflict:
					a.refused(t, 409, "idempotency_in_progress")
				default:
					a.refused(t, 422, "idempotency_mismatch")
				}
			})
		}
		all.Wait()
		charged := 0
		ids.Range(func(_, _ any) bool { charged++; return true })
		require.Equal(t, 1, charged)
		c.sound(t, 2)
	})
}

// TestRevokeRacingACharge: a charge that comes after the answer to the revocation
// moves nothing, and one that raced it moved its money whole or not at all.
func TestRevokeRacingACharge(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, kind engine) {
		c := setup(t, &servertest.Options{Store: kind.open})
		m := c.mandate(t, 100, 100_000)
		var succeeded atomic.Int64
		revoked := make(chan struct{})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for {
					after := false
					select {
					case <-revoked:
						after = true
					default:
					}
					_, err := c.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 100, Currency: client.USD, Description: "racing"})
					switch {
					case err == nil:
						require.False(t, after, "charged after the revocation was answered")
						succeeded.Add(1)
					case errors.Is(err, client.ErrMandateRevoked):
						return
					default:
						require.NoError(t, err)
					}
				}
			})
		}
		require.Eventually(t, func() bool { return succeeded.Load() > 8 }, time.Minute, time.Millisecond)
		c.do(t, "POST", "/v1/mandates/"+m+"/revoke", "").ok(t)
		close(revoked)
		all.Wait()
		balance := c.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t)
		require.EqualValues(t, 100*succeeded.Load(), balance.int("currentMonthlySpendCents"))
		require.Equal(t, "revoked", balance.str("status"))
		c.sound(t, int(succeeded.Load()))
	})
}
