package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// bearerTransport adds an access token to each request.
type bearerTransport struct{ token string }

func (b bearerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// mcpSession connects to /mcp with an access token.
func (c caller) mcpSession(t *testing.T, token string) *mcp.ClientSession {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: c.URL + "/mcp", HTTPClient: &http.Client{Transport: bearerTransport{token}}, DisableStandaloneSSE: true,
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, session.Close())
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	})
	return session
}

// tool calls a tool and returns its JSON.
func tool(t *testing.T, s *mcp.ClientSession, name string, arguments map[string]any) (map[string]any, bool) {
	t.Helper()
	got, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	require.NoError(t, err)
	var value map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.Content[0].(*mcp.TextContent).Text), &value))
	return value, !got.IsError
}

func TestAnAgentPaysThroughTheToolsOfTheService(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open, Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: shopWallet}})
			mandate := c.mandate(t, 500, 5000)
			token := c.token(t, client.AccessTokenParams{Mandate: mandate}).Token
			shop := httptest.NewUnstartedServer(nil)
			url := "http://" + shop.Listener.Addr().String() + "/weather"
			gate, err := paywall.New(paywall.Config{Price: "0.75", PayTo: shopWallet, APIURL: c.URL, TestMode: true, Resource: url})
			require.NoError(t, err)
			shop.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "sunny") }))
			shop.Start()
			t.Cleanup(shop.Close)

			s := c.mcpSession(t, token)
			list, err := s.ListTools(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, list.Tools, 10)
			fetched, ok := tool(t, s, "delegare_fetch", map[string]any{"url": url})
			require.True(t, ok, fetched)
			require.Equal(t, "sunny", fetched["content"])
			paid, ok := tool(t, s, "authorize_agent_payment", map[string]any{
				"amountCents": 100, "currency": "usd", "description": "report", "recipient": c.merchant.ID,
			})
			require.True(t, ok, paid)
			balance, ok := tool(t, s, "check_mandate_balance", nil) // the token's own mandate
			require.True(t, ok, balance)
			require.InDelta(t, 175, balance["currentMonthlySpendCents"], 0)

			other := c.mcpSession(t, token) // another session of the same agent
			again, ok := tool(t, other, "delegare_fetch", map[string]any{"url": url})
			require.False(t, ok)
			require.Equal(t, "duplicate_payment", again["code"])
			require.Equal(t, 175, c.do(t, "GET", "/v1/mandates/"+mandate+"/balance", "").ok(t).int("currentMonthlySpendCents"))

			setup, ok := tool(t, s, "setup_spending_mandate", map[string]any{"maxAmountPerTxCents": 100, "maxMonthlySpendCents": 100})
			require.False(t, ok)
			require.Equal(t, "insufficient_scope", setup["code"], "a token of one mandate asks for no other")
		})
	}
}

const listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`

func TestToolsNeedAnAccessTokenAndSayWhere(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	token := c.token(t, client.AccessTokenParams{})
	nobody := caller{Server: c.Server}
	accept := []string{"Accept", "application/json, text/event-stream"}
	meta := c.URL + "/.well-known/oauth-protected-resource/mcp"
	for name, headers := range map[string][]string{
		"none": nil, "unknown": {"Authorization", "Bearer token_unknown"}, "a key": {"Authorization", "Bearer " + c.merchant.APIKey},
		"a key's headers": {"X-Service-Merchant-Id", c.merchant.ID, "X-Service-Api-Key", c.merchant.APIKey},
	} {
		refused := nobody.do(t, "POST", "/mcp", listTools, append(headers, accept...)...).refused(t, 401, "unauthorized")
		require.Contains(t, refused.Header.Get("WWW-Authenticate"), `Bearer resource_metadata="`+meta+`", scope="pay balance revoke"`, name)
	}
	require.Equal(t, 401, nobody.do(t, "POST", "/mcp?access_token="+token.Token, listTools, accept...).Status, "never in an address")
	for _, path := range []string{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"} {
		found := nobody.do(t, "GET", path, "").ok(t)
		require.Equal(t, c.URL+"/mcp", found.str("resource"))
	}
	with := append([]string{"Authorization", "Bearer " + token.Token}, accept...)
	require.Contains(t, nobody.do(t, "POST", "/mcp", listTools, with...).ok(t).Text, "delegare_fetch")
	require.Equal(t, 405, nobody.do(t, "GET", "/mcp", "", with...).Status)
	require.Equal(t, 413, nobody.do(t, "POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"`+string(make([]byte, 1<<20))+`"}}`, with...).Status)
	c.do(t, "DELETE", "/v1/access-tokens/"+token.ID, "").ok(t)
	nobody.do(t, "POST", "/mcp", listTools, with...).refused(t, 401, "unauthorized")
}

// TestToolsAnswerOnlyUnderTheirOwnName: a page that reaches the service under another name (DNS
// rebinding), or from another origin, gets nothing.
func TestToolsAnswerOnlyUnderTheirOwnName(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	token := c.token(t, client.AccessTokenParams{}).Token
	ask := func(host, origin string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, c.URL+"/mcp", nil)
		r.Body = io.NopCloser(strings.NewReader(listTools))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+token)
		if host != "" {
			r.Host = host
		}
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, 200, ask("", ""))
	require.Equal(t, 200, ask("", c.URL))
	require.Equal(t, 403, ask("evil.example", ""))
	require.Equal(t, 403, ask("", "https://evil.example"))
	require.Equal(t, 403, ask("", "null"))
	require.Equal(t, 403, ask("evil.example", "http://evil.example"))
}

// TestThereIsNoSessionToHijack: the tools keep none, and the name of one gives nothing: each
// request is the token's.
func TestThereIsNoSessionToHijack(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	token := c.token(t, client.AccessTokenParams{}).Token
	nobody := caller{Server: c.Server}
	accept := []string{"Accept", "application/json, text/event-stream"}
	with := append([]string{"Authorization", "Bearer " + token}, accept...)
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	opened := nobody.do(t, "POST", "/mcp", initialize, with...).ok(t)
	require.Empty(t, opened.Header.Get("Mcp-Session-Id"))
	for _, session := range []string{"s", strings.Repeat("a", 32)} {
		stolen := append([]string{"Mcp-Session-Id", session}, accept...)
		nobody.do(t, "POST", "/mcp", listTools, stolen...).refused(t, 401, "unauthorized")
		require.Empty(t, nobody.do(t, "POST", "/mcp", listTools, append(stolen, "Authorization", "Bearer "+token)...).Header.Get("Mcp-Session-Id"))
	}
}
