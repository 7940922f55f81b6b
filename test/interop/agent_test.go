package interop_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// inFront starts a reverse proxy of one kind before an address, and returns the
// public address and the transport that reaches it.
func inFront(t *testing.T, kind, of string) (string, http.RoundTripper) {
	t.Helper()
	to, err := url.Parse(of)
	require.NoError(t, err)
	if kind == "none" {
		return of, &http.Transport{DisableKeepAlives: true}
	}
	proxy := &httputil.ReverseProxy{Transport: &http.Transport{DisableKeepAlives: true}, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host})
		r.Out.Host = r.In.Host
		if kind == "rewrites Host" {
			r.Out.Host = "backend.internal"
		}
	}}
	server := httptest.NewUnstartedServer(proxy)
	if kind == "ends TLS" {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return server.URL + to.Path, server.Client().Transport
}

// TestOurAgentPaysOfficialServers: our agent buys from @x402/express (v2),
// x402-express (v1) and mppx, which is paid by both protocols that it speaks:
// directly, and behind proxies because of which a server takes its resource for
// one of another origin.
func TestOurAgentPaysOfficialServers(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	for _, by := range []struct {
		server   string
		way      agent.Method
		proxy    string
		resource string // that differs from the address asked
	}{
		{"@x402/express", agent.X402, "none", ""},
		{"@x402/express", agent.X402, "ends TLS", ""},
		{"@x402/express", agent.X402, "rewrites Host", "http://backend.internal/weather"},
		{"x402-express", agent.X402V1, "none", ""},
		{"x402-express", agent.X402V1, "ends TLS", ""},
		{"x402-express", agent.X402V1, "rewrites Host", "http://backend.internal/weather"},
		{"mppx", agent.MPP, "none", ""},
		{"mppx", agent.MPP, "ends TLS", ""},
		{"mppx", agent.X402, "none", ""},
	} {
		t.Run(by.server+" by "+string(by.way)+" proxy "+by.proxy, func(t *testing.T) {
			t.Parallel()
			purchase := buy(t, project, by.server, by.proxy, []agent.Method{by.way})
			require.Equal(t, by.way, purchase.Method)
			require.Equal(t, by.resource, purchase.Resource)
		})
	}
}

// TestMPPXWithRouteBindingIsPaidByItsOwnProtocol: mppx takes x402 only with a
// nonce of its own making there; the Payment scheme works.
func TestMPPXWithRouteBindingIsPaidByItsOwnProtocol(t *testing.T) {
	t.Parallel()
	purchase := buy(t, nodetest.Open(t, "x402"), "mppx, bound", "none", nil)
	require.Equal(t, agent.MPP, purchase.Method)
}

// buy buys /weather from an official server, and returns what was approved.
func buy(t *testing.T, project nodetest.Project, server, proxy string, by []agent.Method) (approved agent.Purchase) {
	t.Helper()
	srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
	var shop struct{ URL string }
	project.Start(t, "shop.mjs", map[string]any{
		"server": strings.TrimSuffix(server, ", bound"), "bound": strings.HasSuffix(server, ", bound"),
		"facilitator": srv.URL + "/v1/x402", "payTo": devchain.Payee(0).Address.Hex(),
	}, &shop)
	address, base := inFront(t, proxy, shop.URL)
	wallet, err := evm.NewWallet(evm.WalletConfig{Key: devchain.Wallets()[0].Key()})
	require.NoError(t, err)
	pays, err := agent.NewTransport(agent.Config{
		MaxPriceMicros: 10_000, Wallet: wallet, Methods: by, Base: base,
		Approve: func(_ context.Context, p agent.Purchase) error {
			approved = p
			return nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(pays.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: pays}).Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	receipt, ok := agent.ReceiptFrom(resp)
	require.True(t, ok, "%v %s", resp.Header, body)
	bought{resp.StatusCode, string(body), map[string]any{"transaction": receipt.Transaction}}.paidFor(t, srv, "transaction")
	return approved
}
