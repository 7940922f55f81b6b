package server_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
)

// TestPresentationPaysAStrangersWallet: a mandate for anybody pays, by chain, a
// wallet that belongs to no merchant. It owes no fee, and who registers it a moment
// later is not paid again.
func TestPresentationPaysAStrangersWallet(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Chain: chain.Start, Store: kind.open})
			stranger := devchain.Payee(1).Address.Hex()
			p := purchase()
			p.Amount, p.PayTo, p.Network = "0.01", stranger, c.Chain.Network
			mandate := func(payees ...string) string {
				return c.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, AllowedMerchantIDs: payees, PaymentMethods: []string{"wallet"}})
			}
			present := func(token string) string {
				made, err := c.Client().CreatePresentation(t.Context(), token, p)
				require.NoError(t, err)
				return made.Presentation
			}
			_, err := c.Client().CreatePresentation(t.Context(), mandate(c.Merchant.ID), p)
			require.ErrorIs(t, err, client.ErrMerchantNotAllowed, "a mandate that names its payees pays nobody else")

			anybody := mandate("*")
			made := present(anybody)
			settle := func() answer {
				body, err := json.Marshal(client.PaywallSettlementParams{
					Mandate: made, Price: p.Amount, PayTo: stranger, Network: p.Network, Resource: p.Resource, ChallengeID: p.Nonce, IdempotencyKey: "k",
				})
				require.NoError(t, err)
				nobody := caller{Server: c.Server}
				return nobody.do(t, http.MethodPost, "/v1/paywall/settle", string(body))
			}
			first := settle().ok(t)
			require.Equal(t, true, first.Body["success"], first.Text)
			require.Equal(t, p.Network, first.str("network"))
			require.Regexp(t, "^0x[0-9a-f]{64}$", first.str("transaction"))
			require.Equal(t, first.Text, settle().ok(t).Text)

			_, err = c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Stranger", PayTo: stranger})
			require.NoError(t, err)
			require.Equal(t, first.Text, settle().ok(t).Text)
			require.Equal(t, 1, c.do(t, "GET", "/v1/mandates/"+anybody+"/balance", "").ok(t).int("currentMonthlySpendCents"))
			c.sound(t, 1)
		})
	}
}
