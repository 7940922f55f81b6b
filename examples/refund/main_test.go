package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
)

func TestRun(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, PaymentMethods: []string{"card_visa", "wallet"}})
	for _, currency := range []client.Currency{client.USD, client.USDC} {
		paid, err := srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 500, Currency: currency, Description: "Five reports"})
		require.NoError(t, err)
		var out strings.Builder
		require.NoError(t, run(t.Context(), srv.Client(), devchain.Payee(0).PrivateKey(), paid.TransactionID, "200", &out))
		require.Equal(t, "succeeded 200\n", out.String())
	}
}
