package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

const wallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

func TestReportIsPaidByMandate(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
	weather := httptest.NewUnstartedServer(nil)
	mux, err := api(srv.URL, wallet, "http://"+weather.Listener.Addr().String())
	require.NoError(t, err)
	weather.Config.Handler = mux
	weather.Start()
	t.Cleanup(weather.Close)

	status, _ := get(t, weather.URL+"/report", "")
	require.Equal(t, http.StatusPaymentRequired, status)
	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	status, body := get(t, weather.URL+"/report", m)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"thanks":"del_`)
}

func get(t *testing.T, url, mandate string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header.Set("X-Service-Mandate", mandate)
	if mandate == "" {
		r.Header.Del("X-Service-Mandate")
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(body)
}
