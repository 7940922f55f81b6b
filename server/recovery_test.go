package server_test

import (
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// sound requires that the ledger is, with so many charges succeeded and none pending.
func (c caller) sound(t *testing.T, succeeded int) {
	t.Helper()
	r, err := c.CheckLedger(t.Context())
	require.NoError(t, err)
	require.Empty(t, r.Faults)
	require.Zero(t, r.Pending)
	require.Equal(t, succeeded, r.Succeeded)
}

// TestLimitHoldsUnderConcurrentCharges is must-show 4: of 200 charges at once
// exactly those that fit succeed.
func TestLimitHoldsUnderConcurrentCharges(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 100, 10_000)
	var succeeded, refused atomic.Int64
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			_, err := c.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 100, Currency: client.USD, Description: "race"})
			if err == nil {
				succeeded.Add(1)
				return
			}
			require.ErrorIs(t, err, client.ErrMonthlyLimit)
			refused.Add(1)
		})
	}
	all.Wait()
	require.EqualValues(t, 100, succeeded.Load())
	require.EqualValues(t, 100, refused.Load())
	require.Equal(t, 10_000, c.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t).int("currentMonthlySpendCents"))
	c.sound(t, 100)
}

// TestRetryAfterALostAnswerPaysOnce: the processor moves the money and does not
// answer. The charge is reported as pending, and found again by its key.
func TestRetryAfterALostAnswerPaysOnce(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 100, 100, "card_lost_answer")
	pending := c.charge(t, m, 100, "k").ok(t)
	require.Equal(t, "pending", pending.str("status"))
	c.charge(t, m, 1, "other").refused(t, 402, "monthly") // it holds its amount
	require.Eventually(t, func() bool {
		again := c.charge(t, m, 100, "k").ok(t)
		require.Equal(t, pending.str("transactionId"), again.str("transactionId"))
		return again.str("status") == "completed"
	}, time.Minute, 50*time.Millisecond)
	c.sound(t, 1)
}

// TestChargesOfADeadProcessAreFinished: a service that ended between reserving
// and capturing leaves a pending charge; the next one finishes it at start.
func TestChargesOfADeadProcessAreFinished(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	processor, err := card.OpenProcessor(ctx, card.ProcessorConfig{Path: filepath.Join(dir, "card.db")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, processor.Close()) })
	gateway := httptest.NewServer(processor.Handler())
	t.Cleanup(gateway.Close)

	open := func() caller {
		store, err := sqlite.Open(ctx, filepath.Join(dir, "pay.db"))
		require.NoError(t, err)
		remote, err := card.NewHTTP(card.HTTPConfig{BaseURL: gateway.URL})
		require.NoError(t, err)
		fiat, err := card.New(card.Config{Gateway: remote})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, remote.Close()) })
		return setup(t, &servertest.Options{Configure: func(cfg *server.Config) {
			require.NoError(t, cfg.Store.Close())
			cfg.Store, cfg.Rails, cfg.BaseURL = store, []rail.Rail{fiat}, "http://127.0.0.1:4020"
		}})
	}
	first := open()
	m := first.mandate(t, 100, 100)
	require.NoError(t, processor.SetFaults(card.Faults{StopPercent: 100})) // between its own two steps, too
	pending := first.charge(t, m, 100, "k").ok(t)
	require.Equal(t, "pending", pending.str("status"))
	require.NoError(t, first.Close())
	require.NoError(t, processor.SetFaults(card.Faults{}))

	second := open()
	second.merchant = first.merchant
	require.Eventually(t, func() bool {
		return second.charge(t, m, 100, "k").ok(t).str("status") == "completed"
	}, time.Minute, 50*time.Millisecond)
	second.sound(t, 1)
	moved, err := processor.Totals(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 100, moved.CapturedCents)
}

// TestClosingServiceRefusesAndFinishes: running charges end, new ones are refused as retryable.
func TestClosingServiceRefusesAndFinishes(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 100, 10_000)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if a := c.charge(t, m, 100, string(rune('a'+i))); a.Status != 200 {
				a.refused(t, 503, "unavailable")
				require.Equal(t, "1", a.Header.Get("Retry-After"))
			}
		})
	}
	require.NoError(t, c.Close())
	all.Wait()
}
