package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

const wallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

func TestAgentReadsWhatCostsMoney(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
	for price, paid := range map[string]bool{"0.50": true, "1.50": false} {
		api := httptest.NewUnstartedServer(nil)
		url := "http://" + api.Listener.Addr().String() + "/report"
		gate, err := paywall.New(paywall.Config{Price: price, PayTo: wallet, APIURL: srv.URL, TestMode: true, Resource: url})
		require.NoError(t, err)
		api.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "sunny") }))
		api.Start()
		t.Cleanup(api.Close)

		m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
		var out bytes.Buffer
		token, err := srv.Client().CreateAccessToken(t.Context(), client.AccessTokenParams{Mandate: m, Scopes: []client.Scope{client.ScopePay}})
		require.NoError(t, err)
		err = read(t.Context(), &out, srv.URL, token.Token, m, url)
		if !paid {
			require.ErrorIs(t, err, agent.ErrTooExpensive)
			require.Empty(t, out.String())
			continue
		}
		require.NoError(t, err)
		require.Regexp(t, `(?s)^paying 0.50 USD by mandate for http.*\npaid with card pay_.*\nsunny$`, out.String())
	}
}
