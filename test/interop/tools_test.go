package interop_test

import (
	"context"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/agent/mcpclient"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/paywall/mcptool"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
	"github.com/paywarrant/paywarrant/x402/evm"
)

type town struct {
	Town string `json:"town"`
}

// TestMPPXPaysForOurTool: the official TypeScript SDK with the client of mppx buys a call of a
// tool behind a gate, whether the price comes as a result or as the error -32042.
func TestMPPXPaysForOurTool(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	for name, experimental := range map[string]map[string]any{"by a result": {}, "by an error": {"payment": map[string]any{}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
			shop := httptest.NewUnstartedServer(nil)
			origin := "http://" + shop.Listener.Addr().String()
			gate, err := paywall.New(paywall.Config{Price: "0.01", PayTo: devchain.Payee(0).Address.Hex(), APIURL: srv.URL, TestMode: true, Origin: origin})
			require.NoError(t, err)
			var calls atomic.Int64
			tools := mcp.NewServer(&mcp.Implementation{Name: "tools", Version: "1"}, nil)
			mcptool.AddTool(tools, gate, &mcp.Tool{Name: "forecast"}, func(context.Context, *mcp.CallToolRequest, town) (*mcp.CallToolResult, any, error) {
				calls.Add(1)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: `{"sky":"clear"}`}}}, nil, nil
			})
			shop.Config.Handler = mcptool.ClientAddress(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return tools }, nil))
			shop.Start()
			defer shop.Close()
			var b struct {
				bought
				Approved int
			}
			project.Run(t, "calltool.mjs", map[string]any{"url": origin, "key": devchain.Wallets()[0].PrivateKey(), "experimental": experimental}, &b)
			b.paidFor(t, srv, "reference")
			require.Equal(t, 1, b.Approved, "one payment")
			require.EqualValues(t, 1, calls.Load())
		})
	}
}

// TestOurAgentPaysForToolsOfMPPX, whose facilitator is the reference one of @x402/evm: from a
// wallet, once, and not above its highest price.
func TestOurAgentPaysForToolsOfMPPX(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
	var theirs, shop struct{ URL string }
	project.Start(t, "facilitator.mjs", map[string]any{
		"rpc": srv.Chain.RPCURL, "key": "0x" + hex.EncodeToString(crypto.FromECDSA(devchain.Wallets()[9].Key())),
	}, &theirs)
	project.Start(t, "selltool.mjs", map[string]any{"facilitator": theirs.URL, "payTo": devchain.Payee(0).Address.Hex()}, &shop)
	key, err := evm.ParseKey(strings.TrimPrefix(devchain.Wallets()[0].PrivateKey(), "0x"))
	require.NoError(t, err)
	wallet, err := evm.NewWallet(evm.WalletConfig{Key: key})
	require.NoError(t, err)

	buy := func(highest int64) (*mcp.CallToolResult, []agent.Receipt, error) {
		var receipts []agent.Receipt
		c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
		require.NoError(t, mcpclient.Pay(c, mcpclient.Config{Endpoint: shop.URL, Agent: agent.Config{
			Wallet: wallet, MaxPriceMicros: highest, OnPaid: func(_ context.Context, _ string, r agent.Receipt) { receipts = append(receipts, r) },
		}}))
		session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: shop.URL, DisableStandaloneSSE: true}, nil)
		require.NoError(t, err)
		defer session.Close()
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "forecast", Arguments: town{"Oslo"}})
		return result, receipts, err
	}
	_, _, err = buy(9_999)
	require.ErrorIs(t, err, agent.ErrTooExpensive)

	result, receipts, err := buy(10_000)
	require.NoError(t, err)
	require.False(t, result.IsError, "%v", result.Content)
	require.Equal(t, "Oslo: sunny", result.Content[0].(*mcp.TextContent).Text)
	require.Len(t, receipts, 1)
	b := bought{Status: http.StatusOK, Body: `{"sky":"clear"}`, Receipt: map[string]any{"transaction": receipts[0].Transaction}}
	b.paidFor(t, srv, "transaction") // one cent has moved
}
