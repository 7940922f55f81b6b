package mcptool_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/paywall/mcptool"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

const wallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

type town struct {
	Town string `json:"town"`
}

type forecast struct {
	Text string `json:"text"`
}

// bench is a server with paid tools and a service.
type bench struct {
	service *servertest.Server
	mandate string
	calls   atomic.Int64
	broken  atomic.Bool
	server  *mcp.Server
	session *mcp.ClientSession
}

func newBench(t *testing.T, experimental map[string]any) *bench {
	t.Helper()
	b := &bench{service: servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})}
	b.mandate = b.service.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	gate, err := paywall.New(paywall.Config{
		Price: "0.60", PayTo: wallet, Origin: "https://tools.example", APIURL: b.service.URL, TestMode: true,
		Merchant: paywall.Merchant{ID: b.service.Merchant.ID, APIKey: b.service.Merchant.APIKey},
	})
	require.NoError(t, err)
	s := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
	b.server = s
	mcptool.AddTool(s, gate, &mcp.Tool{Name: "forecast"}, func(ctx context.Context, r *mcp.CallToolRequest, in town) (*mcp.CallToolResult, forecast, error) {
		b.calls.Add(1)
		if b.broken.Load() {
			return nil, forecast{}, errors.New("no weather today")
		}
		for name := range r.Params.Meta {
			require.NotContains(t, name, "service/", "the tool sees no credentials")
		}
		paid, ok := paywall.PaymentFrom(ctx)
		require.True(t, ok)
		return nil, forecast{"sunny in " + in.Town + ", paid by " + string(paid.Credential)}, nil
	})
	mcptool.AddTool(s, gate.With(paywall.Route{Price: "1", Metered: true}), &mcp.Tool{Name: "metered"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
		return nil, nil, paywall.MeterFrom(ctx).Add(700_000)
	})
	mcp.AddTool(s, &mcp.Tool{Name: "free"}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	here, there := mcp.NewInMemoryTransports()
	_, err = s.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Experimental: experimental}})
	b.session, err = c.Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = b.session.Close() })
	return b
}

func (b *bench) call(t *testing.T, tool string, meta mcp.Meta) *mcp.CallToolResult {
	t.Helper()
	result, err := b.session.CallTool(t.Context(), &mcp.CallToolParams{Meta: meta, Name: tool, Arguments: map[string]any{"town": "Oslo"}})
	require.NoError(t, err)
	return result
}

func (b *bench) by(key string) mcp.Meta {
	return mcp.Meta{"service/mandate": b.mandate, "service/idempotency-key": key}
}

func (b *bench) spent(t *testing.T) int64 {
	t.Helper()
	balance, err := b.service.Client().Balance(t.Context(), b.mandate)
	require.NoError(t, err)
	return balance.CurrentMonthlySpendCents
}

func text(r *mcp.CallToolResult) string {
	return r.Content[0].(*mcp.TextContent).Text
}

// TestUnpaidCallGetsThePriceInBothProtocols, and the tool does not run.
func TestUnpaidCallGetsThePriceInBothProtocols(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	asked := b.call(t, "forecast", nil)
	require.True(t, asked.IsError)
	require.Nil(t, asked.StructuredContent, "its schema is that of the tool")
	var required struct {
		X402Version int
		Resource    struct{ URL string }
		Accepts     []struct{ Amount, PayTo string }
	}
	require.NoError(t, json.Unmarshal([]byte(text(asked)), &required))
	require.Equal(t, 2, required.X402Version)
	require.Equal(t, "https://tools.example/tools/forecast", required.Resource.URL)
	require.Equal(t, "600000", required.Accepts[0].Amount)
	challenges := asked.Meta["org.paymentauth/payment-required"].(map[string]any)["challenges"].([]any)
	require.Equal(t, "600000", challenges[0].(map[string]any)["request"].(map[string]any)["amount"])
	require.NotNil(t, b.call(t, "metered", nil).StructuredContent)
	require.Zero(t, b.calls.Load())
	require.False(t, b.call(t, "free", nil).IsError)
}

// TestClientOfThePaymentSchemeGetsItsErrors: -32042 without payment and -32043 for one that was
// refused, with the challenges.
func TestClientOfThePaymentSchemeGetsItsErrors(t *testing.T) {
	t.Parallel()
	b := newBench(t, map[string]any{"payment": map[string]any{}})
	_, err := b.session.CallTool(t.Context(), &mcp.CallToolParams{Name: "forecast", Arguments: map[string]any{"town": "Oslo"}})
	var required *jsonrpc.Error
	require.ErrorAs(t, err, &required)
	require.EqualValues(t, -32042, required.Code)
	require.Contains(t, string(required.Data), `"challenges":[{`)
	require.NotContains(t, string(required.Data), "service/payment-refusal")

	_, err = b.session.CallTool(t.Context(), &mcp.CallToolParams{
		Meta: mcp.Meta{"service/mandate": "nonsense"}, Name: "forecast", Arguments: map[string]any{"town": "Oslo"},
	})
	require.ErrorAs(t, err, &required)
	require.EqualValues(t, -32043, required.Code)
	require.Contains(t, string(required.Data), `"service/payment-refusal":{"status":402,"code":"`)
}

// TestMandatePaysForACallOnce: a repetition of a call that was served is refused.
func TestMandatePaysForACallOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	served := b.call(t, "forecast", b.by("one"))
	require.False(t, served.IsError, "%+v", served.Content)
	require.Equal(t, "sunny in Oslo, paid by mandate", served.StructuredContent.(map[string]any)["text"])
	require.Equal(t, true, served.Meta["x402/payment-response"].(map[string]any)["success"])
	require.EqualValues(t, 60, b.spent(t))

	again := b.call(t, "forecast", b.by("one"))
	require.True(t, again.IsError)
	require.EqualValues(t, 1, b.calls.Load())
	require.EqualValues(t, 60, b.spent(t))
}

// TestFailingToolIsNotChargedAgain: the payment stays good until the tool succeeds.
func TestFailingToolIsNotChargedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	b.broken.Store(true)
	for range 3 {
		failed := b.call(t, "forecast", b.by("one"))
		require.True(t, failed.IsError)
		require.Equal(t, "no weather today", text(failed))
	}
	require.EqualValues(t, 60, b.spent(t))
	b.broken.Store(false)
	require.False(t, b.call(t, "forecast", b.by("one")).IsError)
	require.EqualValues(t, 60, b.spent(t), "one payment, one result")
	require.EqualValues(t, 4, b.calls.Load())
}

// TestMeteredToolCapturesWhatWasUsed: less than its price.
func TestMeteredToolCapturesWhatWasUsed(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	require.False(t, b.call(t, "metered", b.by("one")).IsError)
	require.EqualValues(t, 70, b.spent(t))
}

// TestBrokenCredentialsAreRefused, and run nothing.
func TestBrokenCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	for _, meta := range []mcp.Meta{
		{"x402/payment": "text"},
		{"x402/payment": map[string]any{}},
		{"org.paymentauth/credential": map[string]any{"challenge": 1}},
		{"org.paymentauth/credential": map[string]any{"challenge": map[string]any{"request": map[string]any{}}, "payload": map[string]any{}}},
		{"service/mandate": 7},
		{"service/mandate": "a\r\nX-Bundle-Token: b"},
		{"service/mandate": "nonsense"},
		{"service/bundle-token": "b"},
	} {
		refused := b.call(t, "forecast", meta)
		require.True(t, refused.IsError, "%v", meta)
	}
	require.Zero(t, b.calls.Load())
	require.Zero(t, b.spent(t))
}

// TestOnePaymentServesOneOfManyCalls at once.
func TestOnePaymentServesOneOfManyCalls(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil)
	var served atomic.Int64
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			result, err := b.session.CallTool(t.Context(), &mcp.CallToolParams{Meta: b.by("one"), Name: "forecast", Arguments: town{"Oslo"}})
			if assert.NoError(t, err) && !result.IsError {
				served.Add(1)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, served.Load())
	require.EqualValues(t, 1, b.calls.Load())
	require.EqualValues(t, 60, b.spent(t))
}
