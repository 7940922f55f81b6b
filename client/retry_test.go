package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// failure is one way in which an attempt can fail.
type failure struct {
	name    string
	handler http.HandlerFunc
	repeat  bool // is the call sent again, if it is idempotent?
	create  bool // is the call sent again, if it is not idempotent?
}

func failures() []failure {
	return []failure{
		{"connection broken off", hangUp, true, false},
		{"torn answer", reply(200, `{"transactionId":`), true, false},
		{"429", reply(429, rateRefusal), true, true},
		{"429 page", reply(429, `<html>`), true, false},
		{"502 page", reply(502, `<html>`), true, false},
		{"503", reply(503, busyRefusal), true, true},
		{"503 page", reply(503, `<html>`), true, false},
		{"504 page", reply(504, `<html>`), true, false},
		{"500", reply(500, faultRefusal), false, false},
		{"401", reply(401, keyRefusal), false, false},
		{"402", reply(402, monthlyRefusal), false, false},
		{"403 page", reply(403, `<html>`), false, false},
		{"409 in progress", reply(409, runningRefusal), true, false},
		{"409 other", reply(409, `{"code":"session_finished"}`), false, false},
		{"422", reply(422, `{"code":"idempotency_mismatch"}`), false, false},
	}
}

func TestRetriesOnlyWhatIsSafe(t *testing.T) {
	t.Parallel()
	good := reply(http.StatusOK, `{"transactionId":"txn_1","id":"txn_1","status":"completed","success":true,"transaction":"0x1","sessionToken":"s","setupUrl":"u","secret":"whsec_1","totalVolumeCents":1,"hasMore":false}`)
	for _, f := range failures() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for name := range everyMethod(endedContext(t), setupInMemory(t, good)) {
					handler, calls := inTurn(f.handler, good)
					c := setupInMemory(t, handler)
					err := oneMethod(t.Context(), c, name)
					repeat := f.repeat
					if name == "create endpoint" {
						repeat = f.create
					}
					require.Equal(t, repeat, err == nil, "%s: %v", name, err)
					require.Equal(t, map[bool]int{true: 2, false: 1}[repeat], calls(), name)
				}
			})
		})
	}
}

func endedContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func oneMethod(ctx context.Context, c *client.Client, name string) error {
	var err error
	switch name {
	case "create session":
		_, err = c.CreateSession(ctx, client.SessionParams{MaxPerTxCents: 1, MaxMonthlySpendCents: 1})
	case "create endpoint":
		_, err = c.CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{URL: "https://shop.example/hooks"})
	case "session":
		_, err = c.Session(ctx, sessToken)
	case "balance":
		_, err = c.Balance(ctx, token)
	case "revoke":
		_, err = c.Revoke(ctx, token)
	case "charge":
		_, err = c.Charge(ctx, chargeParams())
	case "receipt":
		_, err = c.Receipt(ctx, "txn_1")
	case "stats":
		_, err = c.Stats(ctx)
	case "page":
		_, err = c.TransactionsPage(ctx, client.ListParams{})
	case "settle":
		_, err = c.SettlePaywall(ctx, client.PaywallSettlementParams{Mandate: token})
	default:
		err = errors.New("no such method: " + name)
	}
	return err
}

func TestRetriesAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for configured, attempts := range map[int]int{-1: 1, 0: 4, 1: 2, 10: 11} {
			handler, calls := inTurn(reply(503, busyRefusal))
			c := setupInMemory(t, handler, func(cfg *client.Config) { cfg.MaxRetries = configured })
			_, err := c.Stats(t.Context())
			require.ErrorIs(t, err, client.ErrUnavailable)
			require.Equal(t, attempts, calls())
		}
	})
}

// The key is made once a call, and differs from call to call; the body is sent
// again byte for byte, or the service would refuse it.
func TestKeyIsKeptOverRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		bodies := map[string]int{}
		handler := func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			mu.Lock()
			bodies[string(body)]++
			mu.Unlock()
			reply(503, busyRefusal)(w, r)
		}
		c := setupInMemory(t, handler)
		for range 3 {
			p := chargeParams()
			p.Metadata = map[string]string{"a": "1", "b": "2", "c": "3", "d": "4"}
			_, err := c.Charge(t.Context(), p)
			require.ErrorIs(t, err, client.ErrUnavailable)
			_, err = c.SettlePaywall(t.Context(), client.PaywallSettlementParams{Mandate: token})
			require.ErrorIs(t, err, client.ErrUnavailable)
		}
		require.Len(t, bodies, 6)
		for body, n := range bodies {
			require.Equal(t, 4, n, body)
		}
	})
}

// The pauses are random below bounds that double, and differ between calls.
func TestPausesGrowAndAreRandom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bounds := []time.Duration{
			200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond,
			3200 * time.Millisecond, 5 * time.Second, 5 * time.Second,
		}
		longest := make([]time.Duration, len(bounds))
		for range 200 {
			var at []time.Time
			c := setupInMemory(t, func(w http.ResponseWriter, r *http.Request) {
				at = append(at, time.Now())
				reply(503, busyRefusal)(w, r)
			}, func(cfg *client.Config) { cfg.MaxRetries = len(bounds) })
			_, err := c.Stats(t.Context())
			require.Error(t, err)
			require.Len(t, at, len(bounds)+1)
			for i, bound := range bounds {
				pause := at[i+1].Sub(at[i])
				require.Less(t, pause, bound)
				longest[i] = max(longest[i], pause)
			}
		}
		for i, bound := range bounds { // of 200 draws the largest is in the upper half, but once in 2^200
			require.Greater(t, longest[i], bound/2)
		}
	})
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	for _, asDate := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now() // a whole second, in a bubble
			header := "7"
			if asDate {
				header = start.Add(7 * time.Second).UTC().Format(http.TimeFormat)
			}
			handler, calls := inTurn(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", header)
				reply(429, rateRefusal)(w, r)
			}, reply(200, chargeAnswer))
			_, err := setupInMemory(t, handler).Charge(t.Context(), chargeParams())
			require.NoError(t, err)
			require.Equal(t, 2, calls())
			require.GreaterOrEqual(t, time.Since(start), 7*time.Second)
			require.Less(t, time.Since(start), 7200*time.Millisecond)
		})
	}
}

// A wait that is too long for a call is left to the caller, at once.
func TestLongWaitsAreTheCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler, calls := inTurn(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "31")
			reply(429, rateRefusal)(w, r)
		})
		c := setupInMemory(t, handler)
		start := time.Now()
		_, err := c.Charge(t.Context(), chargeParams())
		var e *client.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, 31*time.Second, e.RetryAfter)
		require.NotErrorIs(t, err, client.ErrUnknownOutcome)
		require.Zero(t, time.Since(start))
		require.Equal(t, 1, calls())
	})
}

func TestNoPauseBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler, calls := inTurn(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "5")
			reply(429, rateRefusal)(w, r)
		})
		c := setupInMemory(t, handler)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err := c.Stats(ctx)
		require.ErrorIs(t, err, client.ErrRateLimited)
		require.Zero(t, time.Since(start))
		require.Equal(t, 1, calls())
	})
}

func TestCancelledWhilePausing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asking := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "20")
			reply(429, rateRefusal)(w, r)
		}
		for _, tc := range []struct {
			handlers []http.HandlerFunc
			unknown  bool
		}{
			{[]http.HandlerFunc{asking}, false},
			{[]http.HandlerFunc{hangUp, asking}, true},
		} {
			handler, _ := inTurn(tc.handlers...)
			c := setupInMemory(t, handler)
			ctx, cancel := context.WithCancel(t.Context())
			stop := time.AfterFunc(3*time.Second, cancel)
			start := time.Now()
			_, err := c.Charge(ctx, chargeParams())
			stop.Stop()
			cancel()
			require.Equal(t, 3*time.Second, time.Since(start))
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, tc.unknown, errors.Is(err, client.ErrUnknownOutcome))
			require.Equal(t, !tc.unknown, errors.Is(err, client.ErrRateLimited))
		}
	})
}

// What never had a connection was never sent: even a call without a key is repeated.
func TestFailedDialsAreRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := listenInMemory(t, reply(200, `{"id":"whe_1","secret":"whsec_1"}`))
		var dials atomic.Int32
		dial := func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials.Add(1) <= 2 {
				return nil, errors.New("no route")
			}
			return l.dial(ctx, network, address)
		}
		c := newClient(t, client.Config{BaseURL: "http://localhost", HTTPClient: &http.Client{Transport: &http.Transport{DialContext: dial}}})
		e, err := c.CreateWebhookEndpoint(t.Context(), client.WebhookEndpointParams{})
		require.NoError(t, err)
		require.Equal(t, "whe_1", e.ID)
		require.Equal(t, int32(3), dials.Load())
	})
}

// A transport that reports no connections may have sent the request.
func TestSilentTransportMayHaveSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c := newClient(t, client.Config{BaseURL: "https://pay.example", HTTPClient: &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			calls++
			return nil, io.ErrUnexpectedEOF
		})}})
		_, err := c.CreateWebhookEndpoint(t.Context(), client.WebhookEndpointParams{})
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, 1, calls)
		_, err = c.Charge(t.Context(), chargeParams())
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.ErrorIs(t, err, client.ErrUnknownOutcome)
		require.Equal(t, 5, calls)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestPauseIsBoundedHoweverOftenACallIsRepeated: a call that is in progress is repeated up to
// thirty times besides its retries.
func TestPauseIsBoundedHoweverOftenACallIsRepeated(t *testing.T) {
	t.Parallel()
	for attempt := 1; attempt < 100; attempt++ {
		wait, ok := client.Pause(t.Context(), attempt, 0)
		require.True(t, ok)
		require.Less(t, wait, 6*time.Second)
	}
}
