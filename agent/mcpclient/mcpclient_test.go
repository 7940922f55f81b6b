package mcpclient_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/agent/mcpclient"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/paywall/mcptool"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/x402/evm"
)

const endpoint = "https://tools.example/mcp"

// bench is a server with a paid tool, and a service that settles its payments.
type bench struct {
	service *servertest.Server
	server  *mcp.Server
	mandate string
	broken  atomic.Bool
	calls   atomic.Int64
}

func newBench(t *testing.T, price string, options *servertest.Options) *bench {
	t.Helper()
	b := &bench{service: servertest.Start(t, options), server: mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)}
	b.mandate = b.service.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	gate, err := paywall.New(paywall.Config{
		Price: price, Name: "Weather & Co <Zürich>", PayTo: devchain.Payee(0).Address.Hex(), Origin: "https://tools.example", APIURL: b.service.URL, TestMode: true,
		Merchant: paywall.Merchant{ID: b.service.Merchant.ID, APIKey: b.service.Merchant.APIKey},
	})
	require.NoError(t, err)
	mcptool.AddTool(b.server, gate, &mcp.Tool{Name: "forecast"}, func(ctx context.Context, _ *mcp.CallToolRequest, in struct {
		Town string `json:"town"`
	},
	) (*mcp.CallToolResult, any, error) {
		b.calls.Add(1)
		if b.broken.Load() {
			return nil, nil, errors.New("no weather today")
		}
		paid, _ := paywall.PaymentFrom(ctx)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Town + " " + string(paid.Credential)}}}, nil, nil
	})
	return b
}

// session returns a session of a client that pays.
func (b *bench) session(t *testing.T, cfg agent.Config, experimental map[string]any) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	_, err := b.server.Connect(t.Context(), there, nil)
	require.NoError(t, err)
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{Experimental: experimental}})
	require.NoError(t, mcpclient.Pay(c, mcpclient.Config{Endpoint: endpoint, Agent: cfg}))
	s, err := c.Connect(t.Context(), here, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func ask(t *testing.T, s *mcp.ClientSession) (*mcp.CallToolResult, error) {
	t.Helper()
	return s.CallTool(t.Context(), &mcp.CallToolParams{Name: "forecast", Arguments: map[string]any{"town": "Oslo"}})
}

func text(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	require.NotEmpty(t, r.Content)
	return r.Content[0].(*mcp.TextContent).Text
}

func (b *bench) spent(t *testing.T) int64 {
	t.Helper()
	balance, err := b.service.Client().Balance(t.Context(), b.mandate)
	require.NoError(t, err)
	return balance.CurrentMonthlySpendCents
}

func (b *bench) byMandate() agent.Config {
	return agent.Config{MaxPriceMicros: 1_000_000, Mandate: b.mandate, Service: b.service.Client()}
}

// TestMandatePaysForATool, and not for one that costs more than the agent may spend.
func TestMandatePaysForATool(t *testing.T) {
	t.Parallel()
	b := newBench(t, "0.60", &servertest.Options{Chain: chain.Start})
	served, err := ask(t, b.session(t, b.byMandate(), nil))
	require.NoError(t, err)
	require.Equal(t, "Oslo mandate", text(t, served))
	require.EqualValues(t, 60, b.spent(t))

	poor := b.byMandate()
	poor.MaxPriceMicros = 500_000
	_, err = ask(t, b.session(t, poor, nil))
	var refused *agent.PaymentError
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, agent.ErrTooExpensive)
	require.EqualValues(t, 1, b.calls.Load())
	require.EqualValues(t, 60, b.spent(t))
}

// TestFailedCallIsPaidOnce: the next call uses the payment of the one that failed.
func TestFailedCallIsPaidOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, "0.60", &servertest.Options{Chain: chain.Start})
	s := b.session(t, b.byMandate(), nil)
	b.broken.Store(true)
	failed, err := ask(t, s)
	require.NoError(t, err)
	require.True(t, failed.IsError)
	require.Equal(t, "no weather today", text(t, failed))
	b.broken.Store(false)
	served, err := ask(t, s)
	require.NoError(t, err)
	require.False(t, served.IsError)
	require.EqualValues(t, 60, b.spent(t))
}

// byWallet is an agent that pays up to a dollar from a wallet.
func byWallet(t *testing.T) agent.Config {
	t.Helper()
	key, err := evm.ParseKey(strings.TrimPrefix(devchain.Wallets()[0].PrivateKey(), "0x"))
	require.NoError(t, err)
	w, err := evm.NewWallet(evm.WalletConfig{Key: key})
	require.NoError(t, err)
	return agent.Config{MaxPriceMicros: 1_000_000, Wallet: w}
}

// TestWalletPaysForATool by x402, and by the Payment scheme if the client declares it.
func TestWalletPaysForATool(t *testing.T) {
	t.Parallel()
	b := newBench(t, "0.01", &servertest.Options{Chain: chain.Start})
	cfg := byWallet(t)
	for want, experimental := range map[string]map[string]any{"x402": nil, "mpp": {"payment": map[string]any{}}} {
		served, err := ask(t, b.session(t, cfg, experimental))
		require.NoError(t, err)
		require.Equal(t, "Oslo "+want, text(t, served))
	}
	require.EqualValues(t, 2, b.calls.Load())
}

// TestConfigurationIsChecked: the error names the field.
func TestConfigurationIsChecked(t *testing.T) {
	t.Parallel()
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	require.ErrorContains(t, mcpclient.Pay(c, mcpclient.Config{Endpoint: "tools.example"}), "Endpoint")
	require.ErrorContains(t, mcpclient.Pay(c, mcpclient.Config{Endpoint: endpoint}), "MaxPriceMicros")
}
