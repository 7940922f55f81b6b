package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
)

// TestUnservedPaymentGivesTheBudgetBack: by card at once, on the chain once the payee's wallet
// has signed.
func TestUnservedPaymentGivesTheBudgetBack(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	var paid []paywall.Payment
	shop := httptest.NewUnstartedServer(nil)
	gate, err := paywall.New(paywall.Config{
		Price: "0.50", RefundUnserved: true, PayTo: c.Chain.PayTo, APIURL: c.URL, TestMode: true, Network: c.Chain.Network,
		Resource: "http://" + shop.Listener.Addr().String() + "/report", Merchant: paywall.Merchant{ID: c.merchant.ID, APIKey: c.merchant.APIKey},
		OnPaid: func(_ *http.Request, p paywall.Payment) { paid = append(paid, p) },
	})
	require.NoError(t, err)
	shop.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	shop.Start()
	t.Cleanup(shop.Close)
	for instrument, want := range map[string]struct {
		status client.RefundStatus
		spent  int64
	}{"card_visa": {client.RefundSucceeded, 0}, "wallet": {client.RefundPending, 50}} {
		m := c.mandate(t, 500, 5000, instrument)
		for status, times := http.StatusInternalServerError, 0; times < 3; times++ {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shop.URL+"/report", http.NoBody)
			require.NoError(t, err)
			r.Header.Set("X-Service-Mandate", m)
			r.Header.Set("Idempotency-Key", "one")
			resp, err := http.DefaultTransport.RoundTrip(r)
			require.NoError(t, err)
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, status, resp.StatusCode, string(text))
			status = http.StatusPaymentRequired // payment_refunded
		}
		list, err := c.Client().Refunds(t.Context(), paid[len(paid)-1].TransactionID)
		require.NoError(t, err)
		require.Len(t, list.Data, 1, "refunded once")
		require.Equal(t, want.status, list.Data[0].Status, list.Data[0].FailureReason)
		require.EqualValues(t, 50, list.Data[0].AmountCents)
		require.Equal(t, want.spent, c.spentCents(t, m))
	}
	require.Len(t, paid, 2)
}
