package agent_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	apiclient "github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
)

// A mandate with a wallet pays a cent, which no card would, over the chain.
func TestMandatePaysACentOverTheChain(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
	api := httptest.NewUnstartedServer(nil)
	url := "http://" + api.Listener.Addr().String() + "/weather"
	gate, err := paywall.New(paywall.Config{
		Price: "0.01", PayTo: devchain.Payee(0).Address.Hex(), APIURL: srv.URL, TestMode: true, Resource: url, Clock: srv.Clock.Now,
	})
	require.NoError(t, err)
	api.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := paywall.PaymentFrom(r.Context())
		_, _ = io.WriteString(w, p.Transaction)
	}))
	api.Start()
	t.Cleanup(api.Close)

	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, PaymentMethods: []string{"wallet"}})
	resp, err := get(t, client(t, agent.Config{Service: srv.Client(), Mandate: m, MaxPriceMicros: 10_000}), url)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, resp.text)
	r, ok := agent.ReceiptFrom(resp.Response)
	require.True(t, ok)
	require.Equal(t, []any{agent.Mandate, srv.Chain.Network, resp.text}, []any{r.Method, r.Network, r.Transaction})
	require.Regexp(t, `^0x[0-9a-f]{64}$`, r.Transaction)
	require.Regexp(t, `^0x[0-9a-fA-F]{40}$`, r.Payer)
	balance, err := srv.Client().Balance(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, int64(1), balance.CurrentMonthlySpendCents)
	require.Contains(t, balance.Rails, apiclient.ChainRail)
}
