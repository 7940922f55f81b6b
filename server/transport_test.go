package server_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// embedded is a program whose gates and clients reach the service without a
// network: nothing listens at its address.
func embedded(t *testing.T) (*servertest.Server, *http.Client) {
	t.Helper()
	srv := servertest.Start(t, &servertest.Options{Chain: chain.Start, Configure: func(c *server.Config) { c.BaseURL = "https://pay.example" }})
	return srv, &http.Client{Transport: srv.Transport(nil)}
}

// TestGateSettlesWithinTheProcess: by each credential, with no connection to the service.
func TestGateSettlesWithinTheProcess(t *testing.T) {
	t.Parallel()
	srv, inside := embedded(t)
	api := httptest.NewUnstartedServer(nil)
	url := "http://" + api.Listener.Addr().String() + "/weather"
	gate, err := paywall.New(paywall.Config{
		Price: "0.01", PayTo: srv.Merchant.PayTo, APIURL: "https://pay.example", TestMode: true, Resource: url, HTTPClient: inside,
		Clock: srv.Clock.Now,
	})
	require.NoError(t, err)
	api.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := paywall.PaymentFrom(r.Context())
		_, _ = io.WriteString(w, p.Transaction)
	}))
	api.Start()
	t.Cleanup(api.Close)
	service, err := client.New(client.Config{BaseURL: "https://pay.example", MerchantID: srv.Merchant.ID, APIKey: srv.Merchant.APIKey, HTTPClient: inside})
	require.NoError(t, err)
	wallet, err := evm.NewWallet(evm.WalletConfig{Key: devchain.Wallets()[0].Key()})
	require.NoError(t, err)
	mandate := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, PaymentMethods: []string{"wallet"}})
	for _, way := range []agent.Method{agent.Mandate, agent.X402, agent.X402V1, agent.MPP} {
		a, err := agent.New(agent.Config{MaxPriceMicros: 10_000, Wallet: wallet, Service: service, Mandate: mandate, Methods: []agent.Method{way}, AllowPrivate: true})
		require.NoError(t, err)
		got, err := a.Fetch(t.Context(), agent.FetchParams{URL: url})
		require.NoError(t, err, way)
		require.Equal(t, http.StatusOK, got.Status, "%s: %s", way, got.Content)
		require.Regexp(t, "^0x[0-9a-f]{64}$", string(got.Content), way)
		a.CloseIdleConnections()
	}
}

func TestTransportKeepsToTheService(t *testing.T) {
	t.Parallel()
	srv, inside := embedded(t)
	get := func(ctx context.Context, c *http.Client, url string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
		require.NoError(t, err)
		return c.Do(r)
	}
	resp, err := get(t.Context(), inside, "https://pay.example/v1/payments/charge")
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("X-Request-Id"))
	require.NoError(t, resp.Body.Close())
	for _, elsewhere := range []string{"https://pay.example.evil/v1", "http://pay.example/v1", "https://pay.example:444/v1"} {
		_, err = get(t.Context(), inside, elsewhere)
		require.ErrorContains(t, err, "not served in this process", elsewhere)
	}
	sent := errors.New("sent")
	_, err = get(t.Context(), &http.Client{Transport: srv.Transport(roundTrip(func(*http.Request) (*http.Response, error) { return nil, sent }))}, "https://other.example/")
	require.ErrorIs(t, err, sent)

	ended, end := context.WithCancel(t.Context())
	end()
	_, err = get(ended, inside, "https://pay.example/v1/payments/charge")
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, srv.Close())
	resp, err = get(t.Context(), inside, "https://pay.example/v1/payments/charge")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
