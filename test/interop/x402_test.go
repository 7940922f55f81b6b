package interop_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/contracts"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
)

// bought is what an official client got for its payment.
type bought struct {
	Status  int
	Body    string
	Receipt map[string]any
}

// paidFor requires the content, and a transaction that moved a cent to the payee.
func (b bought) paidFor(t *testing.T, srv *servertest.Server, member string) {
	t.Helper()
	require.Equal(t, http.StatusOK, b.Status, b.Body)
	require.JSONEq(t, `{"sky":"clear"}`, b.Body)
	hash, _ := b.Receipt[member].(string)
	require.Regexp(t, "^0x[0-9a-f]{64}$", hash, "%v", b.Receipt)
	node, err := ethclient.DialContext(t.Context(), srv.Chain.RPCURL)
	require.NoError(t, err)
	defer node.Close()
	receipt, err := node.TransactionReceipt(t.Context(), common.HexToHash(hash))
	require.NoError(t, err)
	require.Equal(t, types.ReceiptStatusSuccessful, receipt.Status)
	token, usdc := contracts.NewTestUSDC(), devchain.USDC()
	text, err := node.CallContract(t.Context(), ethereum.CallMsg{To: &usdc, Data: token.PackBalanceOf(devchain.Payee(0).Address)}, nil)
	require.NoError(t, err)
	balance, err := token.UnpackBalanceOf(text)
	require.NoError(t, err)
	require.EqualValues(t, 10_000, balance.Int64())
}

// TestOfficialClientsPayOurPaywall: x402-fetch (v1), @x402/fetch (v2) and mppx (MPP)
// each buy from a gate that sends all three challenges.
func TestOfficialClientsPayOurPaywall(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	for client, member := range map[string]string{"x402-fetch": "transaction", "@x402/fetch": "transaction", "mppx": "reference"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
			shop := httptest.NewUnstartedServer(nil)
			url := "http://" + shop.Listener.Addr().String() + "/weather"
			gate, err := paywall.New(paywall.Config{
				Price: "0.01", PayTo: devchain.Payee(0).Address.Hex(), APIURL: srv.URL, TestMode: true, Resource: url,
			})
			require.NoError(t, err)
			shop.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"sky":"clear"}`)
			}))
			shop.Start()
			defer shop.Close()
			var b bought
			project.Run(t, "client.mjs", map[string]any{"client": client, "url": url, "key": devchain.Wallets()[0].PrivateKey()}, &b)
			b.paidFor(t, srv, member)
		})
	}
}

// TestOfficialServersSettleWithUs: @x402/express (v2) and x402-express (v1) with our
// service as their facilitator.
func TestOfficialServersSettleWithUs(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	for _, server := range []string{"@x402/express", "x402-express"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
			var b bought
			project.Run(t, "sell.mjs", map[string]any{
				"server": server, "facilitator": srv.URL + "/v1/x402", "payTo": devchain.Payee(0).Address.Hex(),
				"key": devchain.Wallets()[0].PrivateKey(),
			}, &b)
			b.paidFor(t, srv, "transaction")
		})
	}
}
