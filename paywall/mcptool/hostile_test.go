package mcptool_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/paywall/mcptool"
)

// forger is a client that names an address of its own choice.
type forger struct{}

func (forger) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Service-Client-Address", "203.0.113.7:1")
	return http.DefaultTransport.RoundTrip(r)
}

// TestClientDoesNotChooseItsAddress: the limit of invalid payments goes by the connection's address,
// or by none without ClientAddress.
func TestClientDoesNotChooseItsAddress(t *testing.T) {
	t.Parallel()
	for name, wrap := range map[string]func(http.Handler) http.Handler{
		"with ClientAddress":    mcptool.ClientAddress,
		"without ClientAddress": func(h http.Handler) http.Handler { return h },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := make(chan string, 10)
			gate, err := paywall.New(paywall.Config{
				PayTo: wallet, Origin: "https://tools.example", APIURL: "https://pay.example",
				PriceFunc: func(r *http.Request) (string, error) { seen <- r.RemoteAddr; return "0.01", nil },
			})
			require.NoError(t, err)
			s := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
			mcptool.AddTool(s, gate, &mcp.Tool{Name: "forecast"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{}, nil, nil
			})
			h := httptest.NewServer(wrap(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)))
			t.Cleanup(h.Close)
			session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: h.URL, HTTPClient: &http.Client{Transport: forger{}}, DisableStandaloneSSE: true,
			}, nil)
			require.NoError(t, err)
			defer session.Close()
			asked, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "forecast"})
			require.NoError(t, err)
			require.True(t, asked.IsError)
			address := <-seen
			if name == "without ClientAddress" {
				require.Empty(t, address)
				return
			}
			host, _, err := net.SplitHostPort(address)
			require.NoError(t, err)
			require.Equal(t, "127.0.0.1", host)
		})
	}
}

// TestToolThatIsAddedAgainHasItsLastPrice, and is paid once.
func TestToolThatIsAddedAgainHasItsLastPrice(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	gate, err := paywall.New(paywall.Config{
		Price: "0.30", PayTo: wallet, Origin: "https://tools.example", APIURL: b.service.URL, TestMode: true,
		Merchant: paywall.Merchant{ID: b.service.Merchant.ID, APIKey: b.service.Merchant.APIKey},
	})
	require.NoError(t, err)
	t.Cleanup(gate.CloseIdleConnections)
	mcptool.AddTool(b.server, gate, &mcp.Tool{Name: "forecast"}, func(context.Context, *mcp.CallToolRequest, town) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "cheaper"}}}, nil, nil
	})
	served := b.call(t, "forecast", b.by("one"))
	require.False(t, served.IsError, "%+v", served.Content)
	require.Equal(t, "cheaper", text(served))
	require.EqualValues(t, 30, b.spent(t))
}

// uncaptured is a service that has ended every authorization.
type uncaptured struct{}

func (uncaptured) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/capture") {
		return http.DefaultTransport.RoundTrip(r)
	}
	w := httptest.NewRecorder()
	w.WriteHeader(http.StatusConflict)
	_, _ = io.WriteString(w, `{"code":"authorization_ended","message":"The authorization has expired.","requestId":"req_1"}`)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// TestRefusedCaptureServesNothing: what a metered tool returned is kept back.
func TestRefusedCaptureServesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	gate, err := paywall.New(paywall.Config{
		Price: "1", PayTo: wallet, Origin: "https://tools.example", APIURL: b.service.URL, TestMode: true, Metered: true,
		Merchant: paywall.Merchant{ID: b.service.Merchant.ID, APIKey: b.service.Merchant.APIKey}, HTTPClient: &http.Client{Transport: uncaptured{}},
	})
	require.NoError(t, err)
	ran := false
	mcptool.AddTool(b.server, gate, &mcp.Tool{Name: "costly"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		ran = true
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sunny"}}}, nil, paywall.MeterFrom(ctx).Add(700_000)
	})
	refused := b.call(t, "costly", b.by("one"))
	require.True(t, ran)
	require.True(t, refused.IsError)
	data, err := json.Marshal(refused)
	require.NoError(t, err)
	require.NotContains(t, string(data), "sunny")
	require.Contains(t, string(data), "authorization_ended")
}
