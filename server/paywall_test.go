package server_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/x402"
)

const wallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

func settleBody(t *testing.T, p client.PaywallSettlementParams) string {
	t.Helper()
	b, err := json.Marshal(p)
	require.NoError(t, err)
	return string(b)
}

func TestPaywallIsSettledByCard(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
	nobody := caller{Server: c.Server} // a gate needs no credentials
	m := c.mandate(t, 500, 1000)
	p := client.PaywallSettlementParams{
		Mandate: m, Price: "0.50", PayTo: wallet, Network: "eip155:84532", Resource: "https://api.example.com/report", IdempotencyKey: "k",
	}
	first := nobody.do(t, "POST", "/v1/paywall/settle", settleBody(t, p)).ok(t)
	require.Equal(t, true, first.Body["success"])
	require.Equal(t, "card", first.str("network"))
	again := nobody.do(t, "POST", "/v1/paywall/settle", settleBody(t, p)).ok(t)
	require.Equal(t, first.Text, again.Text)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(t, 50, c.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t).int("currentMonthlySpendCents"))

	cheap := p
	cheap.Price, cheap.IdempotencyKey = "0.01", "cheap"
	drawn := nobody.do(t, "POST", "/v1/paywall/settle", settleBody(t, cheap)).ok(t)
	require.Equal(t, []any{true, "card", drawn.str("transactionId")}, []any{drawn.Body["success"], drawn.str("network"), drawn.str("transaction")})
	again = nobody.do(t, "POST", "/v1/paywall/settle", settleBody(t, cheap)).ok(t)
	require.Equal(t, drawn.Text, again.Text)
	require.Equal(t, 51, c.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t).int("currentMonthlySpendCents"))
	receipt := client.ReceiptParams{
		Receipt:  x402.Settlement{Success: true, Transaction: drawn.str("transaction"), Network: "card", Payer: drawn.str("payer")}.Header(),
		Resource: cheap.Resource, PayTo: wallet, Amount: "0.01", Redeem: true,
	}
	require.True(t, c.verdict(t, receipt).Valid, "before it is captured")
	require.Equal(t, "already_redeemed", c.verdict(t, receipt).Reason)

	dear := p
	dear.Price, dear.IdempotencyKey = "5.01", "dear"
	nobody.do(t, "POST", "/v1/paywall/settle", settleBody(t, dear)).refused(t, 402, "per_tx")
	stranger := p
	stranger.PayTo, stranger.IdempotencyKey = "0x011C0f3cedF7ff87fFD98Bc21Df1ef8cB80e0a47", "stranger"
	nobody.do(t, "POST", "/v1/paywall/settle", settleBody(t, stranger)).refused(t, 403, "merchant_not_allowed")
}

// TestWildcardMandateIsNoBearerToken: who may pay anybody must say whom.
func TestWildcardMandateIsNoBearerToken(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
	m := c.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000, AllowedMerchantIDs: []string{"*"}})
	p := client.PaywallSettlementParams{
		Mandate: m, Price: "0.50", PayTo: wallet, Network: "eip155:84532", Resource: "https://api.example.com/report", IdempotencyKey: "k",
	}
	caller{Server: c.Server}.do(t, "POST", "/v1/paywall/settle", settleBody(t, p)).refused(t, 403, "merchant_not_allowed")
	c.charge(t, m, 100, "direct").ok(t) // its own merchant still charges it
}

// TestMadeUpMandatesLeaveNothing: anybody may call, so what does not verify is not kept.
func TestMadeUpMandatesLeaveNothing(t *testing.T) {
	t.Parallel()
	c, foreign := setup(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}}), setup(t, nil)
	p := client.PaywallSettlementParams{
		Mandate: foreign.mandate(t, 500, 1000), Price: "0.50", PayTo: wallet, Network: "eip155:84532",
		Resource: "https://api.example.com/report", IdempotencyKey: "k",
	}
	nobody := caller{Server: c.Server}
	for range 2 {
		a := nobody.do(t, "POST", "/v1/paywall/settle", settleBody(t, p)).refused(t, 403, "mandate_invalid")
		require.Empty(t, a.Header.Get("Idempotency-Replayed"))
	}
	p.Mandate = c.mandate(t, 500, 1000)
	nobody.do(t, "POST", "/v1/paywall/settle", settleBody(t, p)).ok(t)
}
