package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

const wallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

func TestBundleIsBoughtAndUsed(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
	s := httptest.NewUnstartedServer(nil)
	self := "http://" + s.Listener.Addr().String()
	_, err := api(srv.Client(), srv.URL, wallet, "too short", self)
	require.Error(t, err)
	mux, err := api(srv.Client(), srv.URL, wallet, strings.Repeat("s", 32), self)
	require.NoError(t, err)
	s.Config.Handler = mux
	s.Start()
	t.Cleanup(s.Close)

	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	fetch := func(tokens map[string]string, p agent.FetchParams) agent.Fetched {
		a, err := agent.New(agent.Config{MaxPriceMicros: 1, BundleTokens: tokens, AllowPrivate: true})
		require.NoError(t, err)
		defer a.CloseIdleConnections()
		f, err := a.Fetch(t.Context(), p)
		require.NoError(t, err)
		return f
	}
	sold := fetch(nil, agent.FetchParams{URL: self + "/bundles", Body: fmt.Appendf(nil, `{"tier":"small","mandate":%q}`, m)})
	require.Equal(t, http.StatusCreated, sold.Status, string(sold.Content))
	var bought struct{ BundleToken string }
	require.NoError(t, json.Unmarshal(sold.Content, &bought))
	got := fetch(map[string]string{self: bought.BundleToken}, agent.FetchParams{URL: self + "/weather"})
	require.Equal(t, `{"temperature":7,"creditsRemaining":99}`, string(got.Content))
	require.Equal(t, int64(99), got.Receipt.CreditsRemaining)
}
