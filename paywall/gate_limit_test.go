package paywall_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

// from sends a credential from a client address; bad transfers are refused by the service.
func (w *world) from(address, header, value string) *httptest.ResponseRecorder {
	r := request(http.MethodGet, header, value)
	r.RemoteAddr = address + ":1234"
	return w.send(w.gate, r)
}

// transfers are a good and a worthless payment by each version of x402.
func (w *world) transfers(version int, payer string, good bool) (header, value string) {
	change := func(e *x402.Exact) {
		e.Authorization.From = payer
		if !good {
			e.Signature = "0xbad" + e.Signature[5:]
		}
	}
	if version == x402.Version1 {
		return x402.HeaderPayment, w.payX402V1(w.gate, func(p *x402.PayloadV1) { change(&p.Payload) })
	}
	return x402.HeaderPaymentSignature, w.payX402(w.gate, func(p *x402.Payload) { change(&p.Payload) })
}

func madeUp(i int) string { return fmt.Sprintf("0x%040x", i+1) }

func TestStrangersFloodLeavesTheFacilitatorToNewPayers(t *testing.T) {
	t.Parallel()
	for _, version := range []int{1, 2} {
		w := setup(t, func(c *paywall.Config) { c.UnprovenPerSecond = 2 })
		asked := func() int { return w.service.count("/v1/x402/settle") + w.service.count("/v1/x402/verify") }
		for i := range 60 {
			header, value := w.transfers(version, madeUp(i), false)
			got := w.from("203.0.113.9", header, value)
			if i < 20 {
				require.Equal(t, http.StatusPaymentRequired, got.Code, got.Body)
				continue
			}
			require.Equal(t, http.StatusTooManyRequests, got.Code)
			require.Equal(t, "rate_limit_exceeded", body(t, got)["code"])
			require.Equal(t, "1", got.Header().Get("Retry-After"))
			require.Contains(t, body(t, got)["docUrl"], "rate_limit_exceeded.md")
		}
		require.Equal(t, 20, asked(), "the facilitator was asked about more than one client's share")

		header, value := w.transfers(version, madeUp(100), true)
		require.Equal(t, http.StatusOK, w.from("198.51.100.7", header, value).Code, "a new payer at another address")
		header, value = w.transfers(version, madeUp(101), true)
		require.Equal(t, http.StatusTooManyRequests, w.from("203.0.113.9", header, value).Code)
		w.clock.Advance(time.Second)
		require.Equal(t, http.StatusOK, w.from("203.0.113.9", header, value).Code, "the same credential is good once the bucket refilled")
	}
}

func TestGoodPaymentsAreNotLimited(t *testing.T) {
	t.Parallel()
	for _, version := range []int{1, 2} {
		w := setup(t, func(c *paywall.Config) { c.UnprovenPerSecond = 1 })
		for i := range 40 {
			header, value := w.transfers(version, madeUp(i), true)
			require.Equal(t, http.StatusOK, w.from("203.0.113.9", header, value).Code)
		}
	}
}

// TestPayerWhoPaidIsServedDuringAFlood: it shares its address with the stranger, who
// knows the payer and can name it.
func TestPayerWhoPaidIsServedDuringAFlood(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.UnprovenPerSecond = 1 })
	pay := func(payer string, good bool) int {
		header, value := w.transfers(2, payer, good)
		return w.from("203.0.113.9", header, value).Code
	}
	require.Equal(t, http.StatusOK, pay(payer, true))
	for i := range 12 {
		pay(madeUp(i), false)
	}
	require.Equal(t, http.StatusTooManyRequests, pay(madeUp(20), true))
	require.Equal(t, http.StatusOK, pay(payer, true))

	require.Equal(t, http.StatusPaymentRequired, pay(payer, false))
	require.Equal(t, http.StatusTooManyRequests, pay(payer, false), "a name that was abused proves nothing")
	w.clock.Advance(time.Second)
	require.Equal(t, http.StatusOK, pay(payer, true))
	w.clock.Advance(time.Hour)
	for i := range 12 {
		pay(madeUp(i), false)
	}
	require.Equal(t, http.StatusTooManyRequests, pay(payer, true), "a payment proves a payer for an hour")
}

func TestClientsBehindATrustedProxyAreLimitedOneByOne(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	for _, trusted := range []bool{true, false} {
		w := setup(t, func(c *paywall.Config) {
			c.UnprovenPerSecond = 1
			c.Logger = slog.New(slog.NewTextHandler(&logged, nil))
			if trusted {
				c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
			}
		})
		pay := func(client string, i int, good bool) int {
			header, value := w.transfers(2, madeUp(i), good)
			r := request(http.MethodGet, header, value, "X-Forwarded-For", client)
			r.RemoteAddr = "10.0.0.1:80"
			return w.send(w.gate, r).Code
		}
		for i := range 12 {
			pay("203.0.113.9", i, false)
		}
		want := http.StatusTooManyRequests
		if trusted {
			want = http.StatusOK
		}
		require.Equal(t, want, pay("198.51.100.7", 50, true))
		require.Equal(t, !trusted, strings.Contains(logged.String(), "TrustedProxies"))
	}
	require.Equal(t, 1, strings.Count(logged.String(), "TrustedProxies"), "it is logged once")
}

func TestLimitOfStrangersCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.UnprovenPerSecond = -1 })
	for i := range 200 {
		header, value := w.transfers(2, madeUp(i), false)
		require.Equal(t, http.StatusPaymentRequired, w.from("203.0.113.9", header, value).Code)
	}
}

// TestOutageCostsAPayerWhoPaidNothing: no answer is no refusal.
func TestOutageCostsAPayerWhoPaidNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.UnprovenPerSecond = 1 })
	header, value := w.transfers(2, payer, true)
	require.Equal(t, http.StatusOK, w.from("203.0.113.9", header, value).Code)
	w.service.verifies(func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(rw, "{}")
	})
	header, value = w.transfers(2, payer, true)
	for range 30 {
		require.Equal(t, http.StatusBadGateway, w.from("203.0.113.9", header, value).Code)
	}
	w.service.verifies(nil)
	require.Equal(t, http.StatusOK, w.from("203.0.113.9", header, value).Code)
}
