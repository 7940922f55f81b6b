package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

const wallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

func TestToolIsSoldAndBought(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	made, err := srv.Client().CreateAccessToken(t.Context(), client.AccessTokenParams{Mandate: m, Scopes: []client.Scope{client.ScopePay}})
	require.NoError(t, err)
	var out bytes.Buffer
	buyer := agent.Config{ServiceURL: srv.URL, Token: made.Token, Mandate: m, MaxPriceMicros: 1_000_000}
	require.NoError(t, run(t.Context(), &out, wallet, buyer))
	require.Equal(t, "Oslo: sunny\n", out.String())
	balance, err := srv.Client().Balance(t.Context(), m)
	require.NoError(t, err)
	require.EqualValues(t, 60, balance.CurrentMonthlySpendCents)
}
