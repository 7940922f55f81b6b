package mcpclient_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent/mcpclient"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/paywall/mcptool"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
)

// TestPaymentThatMetAnOutageIsSentAgain: the gate cannot say whether the payment was made, and takes
// it for a day. A new one would pay a second time.
func TestPaymentThatMetAnOutageIsSentAgain(t *testing.T) {
	t.Parallel()
	for name, experimental := range map[string]map[string]any{"by a result": nil, "by an error": {"payment": map[string]any{}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, "0.01", &servertest.Options{Chain: chain.Start})
			to, err := url.Parse(b.service.URL)
			require.NoError(t, err)
			var down atomic.Bool
			proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
			service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && down.Load() {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				proxy.ServeHTTP(w, r)
			}))
			t.Cleanup(service.Close)
			gate, err := paywall.New(paywall.Config{
				Price: "0.01", PayTo: devchain.Payee(0).Address.Hex(), Origin: "https://tools.example", APIURL: service.URL, TestMode: true,
			})
			require.NoError(t, err)
			t.Cleanup(gate.CloseIdleConnections)
			b.server = mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
			mcptool.AddTool(b.server, gate, &mcp.Tool{Name: "forecast"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sunny"}}}, nil, nil
			})
			var sent []any
			b.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
				return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
					if method == "tools/call" {
						meta := r.GetParams().GetMeta()
						for _, member := range []string{"x402/payment", "org.paymentauth/credential"} {
							if meta[member] != nil {
								sent = append(sent, meta[member])
							}
						}
					}
					return next(ctx, method, r)
				}
			})
			buyer, late := byWallet(t), atomic.Bool{}
			buyer.Clock = func() time.Time {
				if late.Load() {
					return time.Now().Add(time.Hour)
				}
				return time.Now()
			}
			s := b.session(t, buyer, experimental)
			down.Store(true)
			refused, err := ask(t, s)
			require.NoError(t, err)
			require.True(t, refused.IsError)
			down.Store(false)
			late.Store(true)
			served, err := ask(t, s)
			require.NoError(t, err)
			require.Equal(t, "sunny", text(t, served))
			require.Len(t, sent, 2)
			require.Equal(t, sent[0], sent[1])
		})
	}
}

// TestToolThatAsksFirstIsPaidOnce: a result that asks for input is not what was paid for, also if
// the program answers the questions by itself.
func TestToolThatAsksFirstIsPaidOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, "0.60", &servertest.Options{Chain: chain.Start})
	gate, err := paywall.New(paywall.Config{
		Price: "0.60", PayTo: devchain.Payee(0).Address.Hex(), Origin: "https://tools.example", APIURL: b.service.URL, TestMode: true,
		Merchant: paywall.Merchant{ID: b.service.Merchant.ID, APIKey: b.service.Merchant.APIKey},
	})
	require.NoError(t, err)
	t.Cleanup(gate.CloseIdleConnections)
	mcptool.AddTool(b.server, gate, &mcp.Tool{Name: "asks"}, func(_ context.Context, r *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		if len(r.Params.InputResponses) == 0 {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"town": &mcp.ElicitParams{Message: "Which town?"}}}, nil, nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sunny"}}}, nil, nil
	})
	here, there := mcp.NewInMemoryTransports()
	_, err = b.server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}})
	require.NoError(t, mcpclient.Pay(c, mcpclient.Config{Endpoint: endpoint, Agent: b.byMandate()}))
	s, err := c.Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })

	asked, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "asks"})
	require.NoError(t, err)
	require.Len(t, asked.InputRequests, 1)
	answered, err := s.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "asks", InputResponses: mcp.InputResponseMap{"town": &mcp.ElicitResult{Action: "accept", Content: map[string]any{"town": "Oslo"}}},
	})
	require.NoError(t, err)
	require.Equal(t, "sunny", text(t, answered))
	require.EqualValues(t, 60, b.spent(t))
}

// TestHigherPriceOnTheRetryIsNotPaid: a server that has got a payment and asks for more gets no
// second one.
func TestHigherPriceOnTheRetryIsNotPaid(t *testing.T) {
	t.Parallel()
	var payments atomic.Int64
	s := mcp.NewServer(&mcp.Implementation{Name: "greedy", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "forecast"}, func(_ context.Context, r *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		amount := "10000"
		if r.Params.Meta["x402/payment"] != nil {
			payments.Add(1)
			amount = "900000"
		}
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: strings.ReplaceAll(`{"x402Version":2,"error":"more",
			"resource":{"url":"mcp://tool/forecast"},"accepts":[{"scheme":"exact","network":"eip155:84532","amount":"AMOUNT",
			"asset":"0x036CbD53842c5426634e7929541eC2318f3dCF7e","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,
			"extra":{"name":"USDC","version":"2"}}]}`, "AMOUNT", amount)}}}, nil, nil
	})
	b := &bench{server: s}
	got, err := ask(t, b.session(t, byWallet(t), nil))
	require.NoError(t, err)
	require.True(t, got.IsError)
	require.EqualValues(t, 1, payments.Load())
}
