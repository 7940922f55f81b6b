package server_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/webhook"
	"github.com/paywarrant/paywarrant/x402"
)

// TestSettlementForAMerchantIsAChargeOfItsLedger: a transfer that a wallet signed is a
// transaction like others: listed, counted, with fee, receipt and event.
func TestSettlementForAMerchantIsAChargeOfItsLedger(t *testing.T) {
	t.Parallel()
	f := facilitate(t)
	f.payee = f.Merchant.PayTo
	hook := f.Webhook(t)
	payer := strings.ToLower(f.payer.Address.Hex())
	for i, source := range []client.Source{client.SourceX402, client.SourceX402, client.SourceMPP} {
		version := []int{x402.Version1, x402.Version2, x402.Version2}[i]
		text, err := json.Marshal(f.requestOf(version, f.sign(t, f.authorize(10_000)), "10000"))
		require.NoError(t, err)
		settled := f.askWith(t, "settle", string(text), http.Header{"X-Payment-Source": {map[client.Source]string{client.SourceMPP: "mpp"}[source]}})
		require.Equal(t, true, settled.Body["success"], settled.Text)

		page, err := f.Client().TransactionsPage(t.Context(), client.ListParams{Limit: 1})
		require.NoError(t, err)
		one := page.Data[0]
		require.Equal(t, client.Transaction{
			ID: one.ID, Source: source, Payer: payer, AmountCents: 1, Status: client.Succeeded, Rail: client.ChainRail, CreatedAt: one.CreatedAt,
		}, one)
		receipt, err := f.Client().Receipt(t.Context(), one.ID)
		require.NoError(t, err)
		require.Equal(t, []any{client.Succeeded, source, payer, settled.str("transaction"), int64(300), "Access to api.example.com/weather"},
			[]any{receipt.Status, receipt.Source, receipt.Payer, receipt.TxHash, receipt.FeeMicros, receipt.Description})
		resp, err := http.Get(receipt.ReceiptURL)
		require.NoError(t, err)
		shown, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Contains(t, string(shown), payer)
		require.NotContains(t, string(shown), "Mandate")
		event := nextOf[webhook.Payment](t, hook, webhook.PaymentSucceeded)
		require.Equal(t, []any{one.ID, "", string(source), payer, int64(10_000)},
			[]any{event.TransactionID, event.MandateID, event.Source, event.Payer, event.AmountMicros})
	}
	stats, err := f.Client().Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, client.Stats{TotalVolumeCents: 3, TransactionCount: 3}, stats)
	report, err := f.CheckLedger(t.Context())
	require.NoError(t, err)
	require.Equal(t, []any{3, 3, 9, []string(nil)}, []any{report.Charges, report.Succeeded, report.Postings, report.Faults})
}

// TestRepeatedSettlementIsOneCharge: neither a duplicate nor a replay is another charge.
func TestRepeatedSettlementIsOneCharge(t *testing.T) {
	t.Parallel()
	f := facilitate(t)
	f.payee = f.Merchant.PayTo
	request := f.requestOf(2, f.sign(t, f.authorize(10_000)), "10000")
	for _, key := range []string{"claim", "claim", "", "other"} {
		f.settleAs(t, key, request)
	}
	f.ask(t, "settle", f.requestOf(2, f.sign(t, f.authorize(1<<50)), "1125899906842624")).refusedPayment(t, "insufficient_funds")
	report, err := f.CheckLedger(t.Context())
	require.NoError(t, err)
	require.Equal(t, []any{1, 1, []string(nil)}, []any{report.Charges, report.Succeeded, report.Faults})
}

// TestSettlementForAStrangerIsRecordedWithoutFee: the ledger has it, and no merchant.
func TestSettlementForAStrangerIsRecordedWithoutFee(t *testing.T) {
	t.Parallel()
	f := facilitate(t)
	settled := f.ask(t, "settle", f.requestOf(2, f.sign(t, f.authorize(10_000)), "10000"))
	require.Equal(t, true, settled.Body["success"], settled.Text)
	page, err := f.Client().TransactionsPage(t.Context(), client.ListParams{Limit: 1})
	require.NoError(t, err)
	require.Empty(t, page.Data)
	report, err := f.CheckLedger(t.Context())
	require.NoError(t, err)
	require.Equal(t, []any{1, 2, []string(nil)}, []any{report.Succeeded, report.Postings, report.Faults}, "no posting of a fee")
}

// TestGateTellsTheLedgerTheProtocol: the transaction of a payment by the Payment scheme has
// its source.
func TestGateTellsTheLedgerTheProtocol(t *testing.T) {
	t.Parallel()
	g := behindGate(t, func(g *gated) { g.payee = g.Merchant.PayTo })
	sources := map[string]int{}
	for header, value := range g.credentials(t) {
		require.Equal(t, http.StatusOK, g.get(t, header, value).StatusCode, header)
	}
	page, err := g.Client().TransactionsPage(t.Context(), client.ListParams{Limit: 10})
	require.NoError(t, err)
	for _, one := range page.Data {
		sources[string(one.Source)]++
	}
	require.Equal(t, map[string]int{"x402": 2, "mpp": 1}, sources)
}
