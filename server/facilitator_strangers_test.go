package server_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/x402"
)

// TestStrangerAtAGateLeavesItsMerchantsLimitToNewPayers: payments that made-up payers
// signed, sent through a merchant's gate, do not use up what the service grants the
// merchant for payers who have not paid yet.
func TestStrangerAtAGateLeavesItsMerchantsLimitToNewPayers(t *testing.T) {
	t.Parallel()
	f := facilitate(t, func(c *server.Config) { c.RequestsPerSecond = 10 })
	gate, err := paywall.New(paywall.Config{
		Price: "0.01", PayTo: f.payee, APIURL: f.URL, TestMode: true, Resource: sold, Clock: f.Clock.Now, UnprovenPerSecond: 1,
		Merchant:       paywall.Merchant{ID: f.Merchant.ID, APIKey: f.Merchant.APIKey},
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	})
	require.NoError(t, err)
	t.Cleanup(gate.CloseIdleConnections)
	handler := gate.Require(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	pay := func(client string, payer devchain.Wallet) int {
		signed := f
		signed.payer = payer
		value, err := x402.EncodeHeader(x402.PayloadV1{
			X402Version: 1, Scheme: "exact", Network: "base-sepolia", Payload: signed.sign(t, signed.authorize(10_000)),
		})
		require.NoError(t, err)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, sold, http.NoBody)
		r.RemoteAddr = "10.0.0.1:80"
		r.Header.Set("X-Forwarded-For", client)
		r.Header.Set(x402.HeaderPayment, value)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	answers := map[int]int{}
	for i := range 40 {
		answers[pay("203.0.113.9", devchain.Payee(100+i))]++
	}
	require.Equal(t, map[int]int{http.StatusPaymentRequired: 10, http.StatusTooManyRequests: 30}, answers)
	require.Equal(t, http.StatusOK, pay("198.51.100.7", devchain.Wallets()[3]))
}
