package agent_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
)

// order sends the same POST again and again.
func order(t *testing.T, c *http.Client, url string, context ctx) (reply, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(context, http.MethodPost, url, strings.NewReader("one book"))
	require.NoError(t, err)
	return do(t, c, r)
}

func TestOrderWhoseAnswerWasLostIsPaidOnce(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	now := &movable{now: time.Now()}
	lossy := &line{RoundTripper: &http.Transport{DisableKeepAlives: true}}
	lossy.lose.Store(1)
	cfg := s.config()
	var paid atomic.Int64
	cfg.Base, cfg.Clock = lossy, now.Now
	cfg.OnPaid = func(ctx, string, agent.Receipt) { paid.Add(1) }
	c := client(t, cfg)

	_, err := order(t, c, s.url, t.Context())
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Zero(t, paid.Load())
	for range 3 { // as a program does that repeats a request on every error
		_, err = order(t, c, s.url, t.Context())
		require.ErrorIs(t, err, agent.ErrAnswerLost)
		var undecided *agent.UndecidedError
		require.ErrorAs(t, err, &undecided)
		require.Equal(t, []any{agent.Mandate, int64(500_000), s.url}, []any{undecided.Method, undecided.AmountMicros, undecided.URL})
		require.Equal(t, now.Now().Add(24*time.Hour), undecided.Until)
		require.Equal(t, &agent.Receipt{Method: agent.Mandate, AmountMicros: 500_000, PayTo: payTo, Network: undecided.Receipt.Network}, undecided.Receipt)
		require.ErrorContains(t, err, "received a payment of 0.50 USD by mandate: the seller redeemed this payment, and the response is lost: already_redeemed; until ")
	}
	require.Equal(t, []int64{1, 1, 1}, []int64{s.charges(), s.served.Load(), paid.Load()})
	require.Len(t, s.sent("X-Service-Mandate"), 2, "once redeemed it is not sent again")

	resp, err := order(t, c, s.url, agent.WithNewPurchase(t.Context()))
	require.NoError(t, err)
	require.Equal(t, "sunnyone book", resp.text)
	require.Equal(t, []int64{2, 2, 2}, []int64{s.charges(), s.served.Load(), paid.Load()})
}

func TestPaymentThatMayStillBeHonoredIsNotReplacedByANewPurchase(t *testing.T) {
	t.Parallel()
	s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ordered") })
	lossy := &line{RoundTripper: &http.Transport{DisableKeepAlives: true}}
	lossy.lose.Store(1)
	cfg := withWallet(t)
	cfg.Base = lossy
	c := client(t, cfg)
	_, err := order(t, c, s.URL, t.Context())
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, err = order(t, c, s.URL, agent.WithNewPurchase(t.Context()))
	require.NoError(t, err)
	sent := s.signatures()
	require.Equal(t, []string{sent[0], sent[0]}, sent)
}

func TestOrderMayBePaidAgainADayAfterItsAnswerWasLost(t *testing.T) {
	t.Parallel()
	s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) { refuseAs(w, "already_redeemed") })
	now := &movable{now: time.Now()}
	cfg := withWallet(t)
	cfg.Clock = now.Now
	c := client(t, cfg)
	for range 2 {
		_, err := order(t, c, s.URL, t.Context())
		require.ErrorIs(t, err, agent.ErrAnswerLost)
	}
	require.Len(t, s.signatures(), 1)
	now.advance(24 * time.Hour)
	_, err := order(t, c, s.URL, t.Context())
	require.ErrorIs(t, err, agent.ErrAnswerLost)
	require.Len(t, s.signatures(), 2)
}

// TestPageWhoseAnswerWasLostIsReportedAsPaid: net/http repeats a GET by itself if a reused
// connection breaks, and the gate serves a payment once.
func TestPageWhoseAnswerWasLostIsReportedAsPaid(t *testing.T) {
	t.Parallel()
	s := sell(t, "0.50", nil)
	gate := s.api.Config.Handler
	var drop atomic.Bool
	drop.Store(true)
	s.api.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Service-Mandate") != "" && drop.CompareAndSwap(true, false) {
			gate.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		gate.ServeHTTP(w, r)
	})
	var log bytes.Buffer
	var paid atomic.Int64
	cfg := s.config()
	keepAlive := &http.Transport{}
	t.Cleanup(keepAlive.CloseIdleConnections)
	cfg.Base = keepAlive
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	cfg.OnPaid = func(ctx, string, agent.Receipt) { paid.Add(1) }
	c := client(t, cfg)

	_, err := get(t, c, s.url)
	require.ErrorIs(t, err, agent.ErrAnswerLost)
	require.ErrorContains(t, err, "the same request is paid again")
	var undecided *agent.UndecidedError
	require.ErrorAs(t, err, &undecided)
	require.Zero(t, undecided.Until)
	require.Equal(t, int64(500_000), undecided.Receipt.AmountMicros)
	require.Equal(t, []int64{1, 1, 1}, []int64{s.charges(), s.served.Load(), paid.Load()})
	require.NotContains(t, log.String(), "agent: paid")
	require.Contains(t, log.String(), "its response is lost")

	resp, err := get(t, c, s.url)
	require.NoError(t, err)
	require.Equal(t, "sunny", resp.text)
	require.Equal(t, []int64{2, 2, 2}, []int64{s.charges(), s.served.Load(), paid.Load()})
	require.Contains(t, log.String(), "agent: paid")
}

func TestFetchReportsThePaymentWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()
	s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) { refuseAs(w, "already_redeemed") })
	cfg := withWallet(t)
	cfg.AllowPrivate = true
	c, err := agent.New(cfg)
	require.NoError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	got, err := c.Fetch(t.Context(), agent.FetchParams{URL: s.URL})
	require.ErrorIs(t, err, agent.ErrAnswerLost)
	require.Equal(t, int64(10_000), got.Receipt.AmountMicros)
}

// TestServedPaymentIsNoNewPurchaseAfterAFailedAnswer: a status that serves nothing is no
// proof that a later sending was not served.
func TestServedPaymentIsNoNewPurchaseAfterAFailedAnswer(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		var tries atomic.Int64
		s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) {
			if tries.Add(1) == 1 {
				w.WriteHeader(status)
				return
			}
			refuseAs(w, "already_redeemed")
		})
		c := client(t, withWallet(t))
		_, err := order(t, c, s.URL, t.Context())
		require.NoError(t, err)
		_, err = order(t, c, s.URL, t.Context())
		require.ErrorIs(t, err, agent.ErrAnswerLost, status)
		sent := s.signatures()
		require.Equal(t, []string{sent[0], sent[0]}, sent, status)
	}
}

// TestPriceThatChangedSinceTheChallengeIsNoLostAnswer: nothing was paid, and the seller
// asks for the new price.
func TestPriceThatChangedSinceTheChallengeIsNoLostAnswer(t *testing.T) {
	t.Parallel()
	s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) { refuseAs(w, "credential_for_another_payment") })
	var log bytes.Buffer
	cfg := withWallet(t)
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	c := client(t, cfg)
	for range 2 {
		resp, err := order(t, c, s.URL, t.Context())
		require.NoError(t, err)
		require.Equal(t, http.StatusPaymentRequired, resp.StatusCode)
	}
	sent := s.signatures()
	require.Len(t, sent, 2)
	require.NotEqual(t, sent[0], sent[1])
	require.NotContains(t, log.String(), "agent: paid")
}

func TestReceiptOnARefusedRepeatIsNoNewPayment(t *testing.T) {
	t.Parallel()
	s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("PAYMENT-RESPONSE", "eyJzdWNjZXNzIjp0cnVlLCJ0cmFuc2FjdGlvbiI6IjB4MSIsIm5ldHdvcmsiOiJiYXNlIn0=")
		refuseAs(w, "already_redeemed")
	})
	_, err := get(t, client(t, withWallet(t)), s.URL)
	require.ErrorIs(t, err, agent.ErrAnswerLost)
	var undecided *agent.UndecidedError
	require.ErrorAs(t, err, &undecided)
	require.Equal(t, "0x1", undecided.Receipt.Transaction)
}

// TestOrderWhoseAnswerBrokeOffIsPaidOnce: the caller has the header and a part of the body.
func TestOrderWhoseAnswerBrokeOffIsPaidOnce(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) {
		if tries.Add(1) > 1 {
			refuseAs(w, "already_redeemed")
			return
		}
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "ord")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	c := client(t, withWallet(t))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader("one book"))
	require.NoError(t, err)
	resp, err := c.Do(r)
	require.NoError(t, err)
	_, err = io.ReadAll(resp.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.NoError(t, resp.Body.Close())
	_, err = order(t, c, s.URL, t.Context())
	require.ErrorIs(t, err, agent.ErrAnswerLost)
	sent := s.signatures()
	require.Equal(t, []string{sent[0], sent[0]}, sent)
}

// TestNextMethodIsNotTakenAfterALostAnswer: the first sending may have moved the money, for
// the lack of which the second one is refused.
func TestNextMethodIsNotTakenAfterALostAnswer(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	s := newRogue(t, func(_ *rogue, w http.ResponseWriter, r *http.Request, paid bool) {
		switch {
		case !paid:
			everyWay(w, r, "10000", 0)
		case tries.Add(1) == 1:
			_, _ = io.WriteString(w, "served")
		default:
			refuseAs(w, "insufficient_funds")
		}
	})
	lossy := &line{RoundTripper: &http.Transport{DisableKeepAlives: true}}
	lossy.lose.Store(1)
	cfg := withWallet(t)
	cfg.Base = lossy
	resp, err := get(t, client(t, cfg), s.URL)
	require.NoError(t, err)
	require.Equal(t, http.StatusPaymentRequired, resp.StatusCode)
	sent := s.signatures()
	require.Equal(t, []string{sent[0], sent[0]}, sent)
}

// TestConflictOfARedeemedPaymentIsALostAnswer: the gate answers 409 if the payment has an
// identifier.
func TestConflictOfARedeemedPaymentIsALostAnswer(t *testing.T) {
	t.Parallel()
	s := paidWith(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"code":"already_redeemed"}`)
	})
	_, err := order(t, client(t, withWallet(t)), s.URL, t.Context())
	require.ErrorIs(t, err, agent.ErrAnswerLost)
}

// TestOrderWhoseAnswerWasLostIsNotPaidAgain: the seller refuses the first payment as expired, or
// because it took the money, and only the caller can decide to order again.
func TestOrderWhoseAnswerWasLostIsNotPaidAgain(t *testing.T) {
	t.Parallel()
	for _, why := range []string{"invalid_exact_evm_payload_authorization_valid_before", "insufficient_funds"} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			var served atomic.Int64
			var s *rogue
			s = paidWith(t, func(w http.ResponseWriter, _ *http.Request) {
				all := s.signatures()
				if last := len(all) - 1; slices.Contains(all[:last], all[last]) {
					refuseAs(w, why)
					return
				}
				served.Add(1)
				_, _ = io.WriteString(w, "ordered")
			})
			lossy := &line{RoundTripper: &http.Transport{DisableKeepAlives: true}}
			lossy.lose.Store(1)
			now := &movable{now: time.Now()}
			cfg := withWallet(t)
			cfg.Base, cfg.Clock = lossy, now.Now
			c := client(t, cfg)
			_, err := order(t, c, s.URL, t.Context())
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			now.advance(2 * time.Minute)
			again, err := order(t, c, s.URL, t.Context())
			require.NoError(t, err)
			require.Equal(t, http.StatusPaymentRequired, again.StatusCode, "the caller decides")
			require.EqualValues(t, 1, served.Load())
		})
	}
}
