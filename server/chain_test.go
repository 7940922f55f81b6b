package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
)

func onChain(t *testing.T) caller { return setup(t, &servertest.Options{Chain: chain.Start}) }

func (c caller) chargeIn(t *testing.T, mandate string, cents int64, currency client.Currency) client.Charge {
	t.Helper()
	ch, err := c.Client().Charge(t.Context(), client.ChargeParams{Mandate: mandate, AmountCents: cents, Currency: currency, Description: "chain"})
	require.NoError(t, err)
	return ch
}

// TestFeesOfTheChain: below a dollar 3 %, at least half a cent; from a dollar on three cents.
func TestFeesOfTheChain(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	m := c.mandate(t, 10_000, 100_000, "wallet")
	for cents, fee := range map[int64]int64{10: 5_000, 50: 15_000, 99: 29_700, 100: 30_000, 10_000: 30_000} {
		ch := c.chargeIn(t, m, cents, client.USDC)
		require.Equal(t, client.Completed, ch.Status, ch.FailureReason)
		require.Equal(t, client.ChainUsed, ch.RailUsed)
		require.Regexp(t, "^0x[0-9a-f]{64}$", ch.TxHash)
		require.Equal(t, fee, ch.FeeMicros, cents)
	}
	c.sound(t, 5)
}

func TestFallbackBothWays(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	declined := c.chargeIn(t, c.mandate(t, 500, 1000, "card_decline_after_setup", "wallet"), 100, client.USD)
	require.Equal(t, client.ChainUsed, declined.RailUsed)
	require.NotZero(t, declined.FeeMicros)
	empty := c.chargeIn(t, c.mandate(t, 500, 1000, "wallet_empty", "card_visa"), 100, client.USDC)
	require.Equal(t, client.CardUsed, empty.RailUsed)
	require.Zero(t, empty.FeeMicros)
	both := c.chargeIn(t, c.mandate(t, 500, 1000, "card_decline_after_setup", "wallet_empty"), 100, client.USD)
	require.Equal(t, []any{client.Failed, client.CardDeclined}, []any{both.Status, both.FailureReason})
	c.sound(t, 2)
}

// TestRevocationEndsTheGrant: what the merchant revokes is revoked on the chain as well.
func TestRevocationEndsTheGrant(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	m := c.mandate(t, 500, 1000, "wallet")
	c.chargeIn(t, m, 100, client.USDC)
	_, err := c.Client().Revoke(t.Context(), m)
	require.NoError(t, err)
	_, err = c.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 1, Currency: client.USDC, Description: "x"})
	require.ErrorIs(t, err, client.ErrMandateRevoked)
	c.sound(t, 1)
}

func TestMonthRollsOverOnBothSides(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	m := c.mandate(t, 100, 100, "wallet")
	require.Equal(t, client.Completed, c.chargeIn(t, m, 100, client.USDC).Status)
	c.Clock.Advance(32 * 24 * time.Hour)
	after := c.chargeIn(t, m, 100, client.USDC)
	require.Equal(t, client.Completed, after.Status, after.FailureReason)
	c.sound(t, 2)
}

func TestPaywallIsSettledByChain(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	m := c.mandate(t, 500, 1000, "wallet")
	s, err := c.Client().SettlePaywall(t.Context(), client.PaywallSettlementParams{
		Mandate: m, Price: "0.001", PayTo: c.merchant.PayTo, Network: c.Chain.Network, Resource: "https://api.example.com/weather", IdempotencyKey: "k",
	})
	require.NoError(t, err)
	require.True(t, s.Success, s.ErrorReason)
	require.Equal(t, c.Chain.Network, s.Network)
	require.Regexp(t, "^0x[0-9a-f]{64}$", s.Transaction)
	require.Regexp(t, "^0x[0-9a-fA-F]{40}$", s.Payer)
}
