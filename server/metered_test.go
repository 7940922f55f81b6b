package server_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// hold holds a paywall's price.
func (c caller) hold(t *testing.T, p client.PaywallSettlementParams) client.PaywallSettlement {
	t.Helper()
	p.Metered = true
	s, err := c.Client().SettlePaywall(t.Context(), p)
	require.NoError(t, err)
	return s
}

// TestPriceIsHeldAndCapturedToTheMicroDollarOnTheChain: a card captures whole cents.
func TestPriceIsHeldAndCapturedToTheMicroDollarOnTheChain(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	for instrument, amount := range map[string]int64{"wallet": 123_457, "card_visa": 120_000} {
		m := c.mandate(t, 500, 1000, instrument)
		p := client.PaywallSettlementParams{
			Mandate: m, Price: "0.60", PayTo: c.Chain.PayTo, Network: c.Chain.Network, Resource: "https://api.example.com/answer", IdempotencyKey: "hold " + instrument,
		}
		held := c.hold(t, p)
		require.True(t, held.Success, held.ErrorReason)
		require.NotNil(t, held.AuthorizedUntil)
		require.EqualValues(t, 60, c.spentCents(t, m))
		if instrument == "card_visa" {
			_, err := c.Client().Capture(t.Context(), held.TransactionID, client.CaptureParams{AmountMicros: 123_457})
			require.ErrorIs(t, err, client.ErrValidation)
		}
		_, err := c.Client().Capture(t.Context(), held.TransactionID, client.CaptureParams{AmountMicros: 1, AmountCents: 1})
		require.ErrorIs(t, err, client.ErrValidation)
		_, err = c.Client().Capture(t.Context(), held.TransactionID, client.CaptureParams{AmountMicros: 600_001})
		require.ErrorIs(t, err, client.ErrValidation)
		captured, err := c.Client().Capture(t.Context(), held.TransactionID, client.CaptureParams{AmountMicros: amount, IdempotencyKey: "capture " + instrument})
		require.NoError(t, err)
		require.Equal(t, client.Completed, captured.Status, captured.FailureReason)
		ended := c.hold(t, p)
		require.False(t, ended.Success, "a held price that was captured pays for nothing more")
		require.Equal(t, string(client.CodeAuthorizationEnded), ended.ErrorReason)
	}
	c.sound(t, 2)
}

// TestOnlyThePayeeHoldsAPrice: a hold takes from the limits of a mandate until it ends.
func TestOnlyThePayeeHoldsAPrice(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
	m := c.mandate(t, 500, 1000)
	p := client.PaywallSettlementParams{
		Mandate: m, Price: "0.60", PayTo: wallet, Network: "eip155:84532", Resource: "https://api.example.com/answer", IdempotencyKey: "k", Metered: true,
	}
	caller{Server: c.Server}.do(t, "POST", "/v1/paywall/settle", settleBody(t, p)).refused(t, 401, "unauthorized")
	other := p
	other.PayTo = "0x011C0f3cedF7ff87fFD98Bc21Df1ef8cB80e0a47"
	c.do(t, "POST", "/v1/paywall/settle", settleBody(t, other)).refused(t, 400, "validation_error")
	other = p
	other.ExpiresInSeconds = 604_801
	c.do(t, "POST", "/v1/paywall/settle", settleBody(t, other)).refused(t, 400, "validation_error")
	require.Zero(t, c.spentCents(t, m))
}
