package interop_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// TestOurAgentPaysOfficialServers: our agent buys from @x402/express (v2),
// x402-express (v1) and mppx, which is paid by both protocols that it speaks.
func TestOurAgentPaysOfficialServers(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	for _, by := range []struct {
		server string
		way    agent.Way
	}{{"@x402/express", agent.X402}, {"x402-express", agent.X402V1}, {"mppx", agent.MPP}, {"mppx", agent.X402}} {
		t.Run(by.server+" by "+string(by.way), func(t *testing.T) {
			t.Parallel()
			srv := servertest.Start(t, &servertest.Options{Chain: true})
			var shop struct{ URL string }
			project.Start(t, "shop.mjs", map[string]any{
				"server": by.server, "facilitator": srv.URL + "/v1/x402", "payTo": devchain.Payee(0).Address.Hex(),
			}, &shop)
			wallet, err := evm.NewWallet(evm.WalletConfig{Key: devchain.Wallets()[0].Key()})
			require.NoError(t, err)
			pays, err := agent.NewTransport(agent.Config{MaxPriceMicros: 10_000, Wallet: wallet, Ways: []agent.Way{by.way}})
			require.NoError(t, err)
			t.Cleanup(pays.CloseIdleConnections)
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shop.URL, http.NoBody)
			require.NoError(t, err)
			resp, err := (&http.Client{Transport: pays}).Do(r)
			require.NoError(t, err)
			body, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			receipt, ok := agent.ReceiptFrom(resp)
			require.True(t, ok, "%v", resp.Header)
			require.Equal(t, by.way, receipt.Way)
			bought{resp.StatusCode, string(body), map[string]any{"transaction": receipt.Transaction}}.paidFor(t, srv, "transaction")
		})
	}
}
