package server_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// TestUnservedPaymentGivesTheBudgetBack: by card at once. On the chain, once the payee's wallet
// has signed, the money comes back, and the month stays used.
func TestUnservedPaymentGivesTheBudgetBack(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	wallet := payeeWallet(t)
	sign := func(ctx context.Context, r client.Refund) (string, error) {
		return wallet.SignRefund(ctx, r.Signature.TypedData, evm.RefundTerms{MaxCents: 50, Until: r.Signature.ExpiresAt})
	}
	for _, tc := range []struct {
		instrument string
		sign       func(context.Context, client.Refund) (string, error)
		status     client.RefundStatus
		spent      int64
	}{
		{"card_visa", nil, client.RefundSucceeded, 0},
		{"wallet", sign, client.RefundSucceeded, 50},
	} {
		m := c.mandate(t, 500, 5000, tc.instrument)
		refund := c.buyUnserved(t, m, tc.sign)
		require.Equal(t, tc.status, refund.Status, refund.FailureReason)
		require.EqualValues(t, 50, refund.AmountCents)
		require.Equal(t, tc.spent, c.spentCents(t, m))
	}
}

// buyUnserved buys from a gate whose handler fails, three times with one credential, and
// returns the only refund.
func (c caller) buyUnserved(t *testing.T, mandate string, sign func(context.Context, client.Refund) (string, error)) client.Refund {
	t.Helper()
	var paid []paywall.Payment
	shop := httptest.NewUnstartedServer(nil)
	gate, err := paywall.New(paywall.Config{
		Price: "0.50", RefundUnserved: true, SignRefund: sign, PayTo: c.Chain.PayTo, APIURL: c.URL, TestMode: true, Network: c.Chain.Network,
		Resource: "http://" + shop.Listener.Addr().String() + "/report", Merchant: paywall.Merchant{ID: c.merchant.ID, APIKey: c.merchant.APIKey},
		OnPaid: func(_ *http.Request, p paywall.Payment) { paid = append(paid, p) },
	})
	require.NoError(t, err)
	defer gate.CloseIdleConnections()
	shop.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	shop.Start()
	defer shop.Close()
	for _, want := range []int{http.StatusInternalServerError, http.StatusPaymentRequired, http.StatusPaymentRequired} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shop.URL+"/report", http.NoBody)
		require.NoError(t, err)
		r.Header.Set("X-Service-Mandate", mandate)
		r.Header.Set("Idempotency-Key", "one")
		resp, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, string(text))
	}
	require.Len(t, paid, 1)
	list, err := c.Client().RefundsPage(t.Context(), paid[0].TransactionID, client.ListParams{})
	require.NoError(t, err)
	require.Len(t, list.Data, 1, "refunded once")
	return list.Data[0]
}
