package server_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/internal/devchain/devchaintest"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// uptoHeader returns a payment, in the scheme upto, of what a gate's 402 offers.
func uptoHeader(t *testing.T, by devchain.Wallet, until int64, challenge string) string {
	t.Helper()
	required, err := x402.DecodePaymentRequired(challenge)
	require.NoError(t, err)
	accepted := required.Accepts[0]
	require.Equal(t, x402.SchemeUpto, accepted.Scheme)
	amount, err := evm.ParseUint256(accepted.Amount)
	require.NoError(t, err)
	p := evm.UptoPermit{
		From: by.Address, Token: common.HexToAddress(accepted.Asset), Amount: amount, Spender: evm.UptoProxy(), To: common.HexToAddress(accepted.PayTo),
		Deadline: evm.Uint64(uint64(until)), Facilitator: common.HexToAddress(accepted.Extra[x402.ExtraFacilitator].(string)),
	}
	_, _ = rand.Read(p.Nonce[:]) // never fails
	text, err := json.Marshal(map[string]any{
		"x402Version": 2, "resource": required.Resource, "accepted": accepted, "payload": devchaintest.SignUpto(t, by, p),
	})
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(text)
}

// TestWalletPaysForAStreamWhatItUsed: a metered stream that ends, and one that its client
// leaves, are each one transfer of what was counted; ledger and chain agree.
func TestWalletPaysForAStreamWhatItUsed(t *testing.T) {
	t.Parallel()
	b := withBooks(t, nil)
	payer := devchain.Wallets()[4]
	devchaintest.AllowPermit2(t, b.Chain.RPCURL, payer)
	paid := make(chan paywall.Payment, 2)
	gate, err := paywall.New(paywall.Config{
		Price: "4.00", Metered: true, PayTo: b.Merchant.PayTo, APIURL: b.URL, TestMode: true, Network: b.Chain.Network, Origin: "http://127.0.0.1:8081",
		Merchant: paywall.Merchant{ID: b.Merchant.ID, APIKey: b.Merchant.APIKey}, Clock: b.Clock.Now,
		OnPaid: func(_ *http.Request, p paywall.Payment) { paid <- p },
	})
	require.NoError(t, err)
	shop := httptest.NewServer(gate.Require(http.HandlerFunc(streamEvents)))
	defer gate.CloseIdleConnections()
	defer shop.Close()
	before, err := b.Client().TransactionsPage(t.Context(), client.ListParams{})
	require.NoError(t, err)

	get := func(ctx context.Context, path, payment string) *http.Response {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, shop.URL+path, http.NoBody)
		require.NoError(t, err)
		if payment != "" {
			r.Header.Set("Payment-Signature", payment)
		}
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
		require.NoError(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	until := b.Clock.Now().Unix() + 3600
	challenge := get(t.Context(), "/events?events=10", "").Header.Get("Payment-Required")
	whole := get(t.Context(), "/events?events=10", uptoHeader(t, payer, until, challenge))
	require.Equal(t, http.StatusOK, whole.StatusCode)
	_, err = io.Copy(io.Discard, whole.Body)
	require.NoError(t, err)
	receipt, err := x402.DecodeSettlement(whole.Trailer.Get("Payment-Response"))
	require.NoError(t, err)
	require.Equal(t, []any{true, "123450", int64(10 * eventMicros)}, []any{receipt.Success, receipt.Amount, receipt.Metered.CapturedMicros})
	require.Regexp(t, "^0x[0-9a-f]{64}$", receipt.Transaction)
	require.EqualValues(t, 10*eventMicros, (<-paid).AmountMicros)

	ctx, leave := context.WithCancel(t.Context())
	challenge = get(t.Context(), "/events", "").Header.Get("Payment-Required")
	cut := get(ctx, "/events", uptoHeader(t, payer, until, challenge))
	require.Equal(t, http.StatusOK, cut.StatusCode)
	in := bufio.NewReader(cut.Body)
	for range 20 {
		_, err := in.ReadString('\n')
		require.NoError(t, err)
	}
	leave()
	left := <-paid
	require.GreaterOrEqual(t, left.AmountMicros, int64(10*eventMicros))
	require.Less(t, left.AmountMicros, int64(4_000_000))
	require.Equal(t, left.MeteredMicros, left.AmountMicros)
	require.NoError(t, gate.Shutdown(t.Context()))

	after, err := b.Client().TransactionsPage(t.Context(), client.ListParams{})
	require.NoError(t, err)
	require.Len(t, after.Data, len(before.Data)+2)
	require.Equal(t, []any{client.SourceX402, client.Succeeded}, []any{after.Data[0].Source, after.Data[0].Status})
	report, err := b.CheckLedger(t.Context())
	require.NoError(t, err)
	require.Empty(t, report.Faults)
	found, _ := b.reconcile(t, b.Clock.Now().Add(-time.Hour))
	require.Empty(t, found)
}
