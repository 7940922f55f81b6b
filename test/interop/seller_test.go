package interop_test

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
)

// TestMandatePaysSellersThatNeverHeardOfTheService: official servers, whose facilitator is the
// reference one of @x402/evm, are paid by an agent that has a mandate, an access token and no
// wallet. The ledger has each purchase once the seller has settled it.
func TestMandatePaysSellersThatNeverHeardOfTheService(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	for _, by := range []struct {
		script, server string
		way            agent.Method
	}{
		{"official.mjs", "@x402/express", agent.X402},
		{"official.mjs", "@x402/hono", agent.X402},
		{"official.mjs", "x402-express", agent.X402V1},
		{"shop.mjs", "mppx", agent.MPP},
		{"shop.mjs", "mppx", agent.X402},
	} {
		t.Run(by.server+" by "+string(by.way), func(t *testing.T) {
			t.Parallel()
			srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
			seller := devchain.Payee(3).Address.Hex()
			var theirs, shop struct{ URL string }
			project.Start(t, "facilitator.mjs", map[string]any{
				"rpc": srv.Chain.RPCURL, "key": "0x" + hex.EncodeToString(crypto.FromECDSA(devchain.Wallets()[9].Key())),
			}, &theirs)
			project.Start(t, by.script, map[string]any{"server": by.server, "facilitator": theirs.URL, "payTo": seller, "delayMs": 0}, &shop)
			address := shop.URL
			if by.script == "official.mjs" {
				address += "/weather"
			}
			mandate := srv.Mandate(t, servertest.Terms{
				MaxPerTxCents: 100, MaxMonthlySpendCents: 1000, AllowedMerchantIDs: []string{"*"}, PaymentMethods: []string{"wallet"},
			})
			token, err := srv.Client().CreateAccessToken(t.Context(), client.AccessTokenParams{
				Mandate: mandate, Scopes: []client.Scope{client.ScopePay, client.ScopeBalance},
			})
			require.NoError(t, err)
			buyer, err := agent.New(agent.Config{
				ServiceURL: srv.URL, Token: token.Token, Mandate: mandate, MaxPriceMicros: 10_000, AllowPrivate: true, Methods: []agent.Method{by.way},
			})
			require.NoError(t, err)
			t.Cleanup(buyer.CloseIdleConnections)
			got, err := buyer.Fetch(t.Context(), agent.FetchParams{URL: address})
			require.NoError(t, err)
			require.Equal(t, 200, got.Status, string(got.Content))
			require.NotNil(t, got.Receipt)
			require.Equal(t, by.way, got.Receipt.Method)
			require.Regexp(t, "^0x[0-9a-f]{64}$", got.Receipt.Transaction)
			require.Eventually(t, func() bool {
				r, err := srv.CheckLedger(t.Context())
				return err == nil && len(r.Faults) == 0 && r.Succeeded == 1 && r.Pending == 0 && r.InSessions == 0
			}, time.Minute, 50*time.Millisecond)
			balance, err := srv.Client().Balance(t.Context(), mandate)
			require.NoError(t, err)
			require.EqualValues(t, 1, balance.CurrentMonthlySpendCents)
		})
	}
}
