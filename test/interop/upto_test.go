package interop_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
)

// TestOfficialClientPaysForWhatItUsed: @x402/fetch with the scheme upto pays a metered gate
// what the handler metered, once its wallet lets Permit2 move tokens; with exact it pays the
// price.
func TestOfficialClientPaysForWhatItUsed(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
	shop := httptest.NewUnstartedServer(nil)
	url := "http://" + shop.Listener.Addr().String() + "/weather"
	gate, err := paywall.New(paywall.Config{
		Price: "0.10", Metered: true, PayTo: srv.Merchant.PayTo, APIURL: srv.URL, TestMode: true, Resource: url,
		Merchant: paywall.Merchant{ID: srv.Merchant.ID, APIKey: srv.Merchant.APIKey},
	})
	require.NoError(t, err)
	shop.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = paywall.MeterFrom(r.Context()).Add(40_000)
		_, _ = io.WriteString(w, `{"sky":"clear"}`)
	}))
	shop.Start()
	defer shop.Close()
	var b []bought
	project.Run(t, "upto.mjs", map[string]any{
		"url": url, "key": devchain.Wallets()[0].PrivateKey(), "rpc": srv.Chain.RPCURL, "token": devchain.USDC().Hex(),
	}, &b)
	require.Equal(t, http.StatusPaymentRequired, b[0].Status)
	require.Equal(t, "permit2_allowance_required", b[0].Receipt["errorReason"])
	paidUpto(t, b[1])
	require.Equal(t, http.StatusOK, b[2].Status, b[2].Body)

	page, err := srv.Client().TransactionsPage(t.Context(), client.ListParams{})
	require.NoError(t, err)
	require.Len(t, page.Data, 2)
	require.Equal(t, []any{int64(10), int64(4)}, []any{page.Data[0].AmountCents, page.Data[1].AmountCents}, "the price by exact, what was metered by upto")
}

// TestOfficialServerSettlesUptoWithUs: @x402/express, with the merchant's API key, settles less
// than the price.
func TestOfficialServerSettlesUptoWithUs(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "x402")
	srv := servertest.Start(t, &servertest.Options{Chain: chain.Start})
	var b []bought
	project.Run(t, "upto.mjs", map[string]any{
		"facilitator": srv.URL + "/v1/x402", "payTo": srv.Merchant.PayTo, "merchant": map[string]any{"id": srv.Merchant.ID, "apiKey": srv.Merchant.APIKey},
		"key": devchain.Wallets()[0].PrivateKey(), "rpc": srv.Chain.RPCURL, "token": devchain.USDC().Hex(),
	}, &b)
	require.NotEqual(t, http.StatusOK, b[0].Status, "without an allowance")
	paidUpto(t, b[1])
	page, err := srv.Client().TransactionsPage(t.Context(), client.ListParams{})
	require.NoError(t, err)
	require.Len(t, page.Data, 1)
	require.EqualValues(t, 4, page.Data[0].AmountCents)
}

// paidUpto requires the content, and a receipt that names four cents and their transaction.
func paidUpto(t *testing.T, b bought) {
	t.Helper()
	require.Equal(t, http.StatusOK, b.Status, b.Body)
	require.JSONEq(t, `{"sky":"clear"}`, b.Body)
	require.Equal(t, []any{true, "40000"}, []any{b.Receipt["success"], b.Receipt["amount"]}, "%v", b.Receipt)
	require.Regexp(t, "^0x[0-9a-f]{64}$", b.Receipt["transaction"])
}
