package server_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/webhook"
	"github.com/paywarrant/paywarrant/x402"
)

// reversing is the sandbox's card rail, which can take payments back.
type reversing struct {
	*card.Rail

	report func(context.Context, rail.Undone) error
}

func (r *reversing) OnUndone(report func(context.Context, rail.Undone) error) { r.report = report }

// takingBack starts a service whose card rail takes a payment back when reverse is called
// with its charge's id.
func takingBack(t *testing.T) (srv *servertest.Server, reverse func(transactionID string)) {
	t.Helper()
	one := &reversing{}
	srv = servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{PayTo: shopWallet}, Configure: func(c *server.Config) {
		one.Rail = c.Rails[0].(*card.Rail)
		c.Rails[0] = one
	}})
	hook := srv.Webhook(t)
	return srv, func(transactionID string) {
		t.Helper()
		require.NoError(t, one.report(t.Context(), rail.Undone{Rail: rail.Card, Reference: rail.Reference(transactionID, rail.Card)}))
		for hook.Next(t).Type != webhook.PaymentReversed {
			continue
		}
	}
}

// opened returns the text of a page.
func opened(t *testing.T, address string, form url.Values) string {
	t.Helper()
	method, body := http.MethodGet, ""
	if form != nil {
		method, body = http.MethodPost, form.Encode()
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, string(text))
	return string(text)
}

// undone names the two ways in which a payment ends as none, and ends it.
var undone = map[string]func(*testing.T, *client.Client, func(string), string){
	"reversed": func(_ *testing.T, _ *client.Client, reverse func(string), transactionID string) {
		reverse(transactionID)
	},
	"refunded": func(t *testing.T, c *client.Client, _ func(string), transactionID string) {
		_, err := c.Refund(t.Context(), transactionID, client.RefundParams{})
		require.NoError(t, err)
	},
}

// TestUndoneSettlementProvesNoPayment: the receipt of a payment that was taken or given back is
// refused and cannot be redeemed, and a repeat of its settlement is no success.
func TestUndoneSettlementProvesNoPayment(t *testing.T) {
	t.Parallel()
	for reason, undo := range undone {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			srv, reverse := takingBack(t)
			c := srv.Client()
			const resource = "https://api.example.com/report"
			params := client.PaywallSettlementParams{
				Mandate: srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000}), Price: "1.00", PayTo: shopWallet,
				Network: "eip155:84532", Resource: resource, IdempotencyKey: "settlement-1",
			}
			paid, err := c.SettlePaywall(t.Context(), params)
			require.NoError(t, err)
			require.True(t, paid.Success)
			receipt := client.ReceiptParams{
				Receipt:  x402.Settlement{Success: true, Transaction: paid.Transaction, Network: paid.Network, Payer: paid.Payer}.Header(),
				Resource: resource, PayTo: shopWallet, Amount: "1.00",
			}
			good, err := c.VerifyReceipt(t.Context(), receipt)
			require.NoError(t, err)
			require.True(t, good.Valid)
			require.Equal(t, client.Succeeded, receiptOf(t, c, paid.TransactionID).Status)

			undo(t, c, reverse, paid.TransactionID)
			for _, receipt.Redeem = range []bool{false, true} {
				verdict, err := c.VerifyReceipt(t.Context(), receipt)
				require.NoError(t, err)
				require.Equal(t, client.ReceiptVerdict{Reason: reason}, verdict)
			}
			again, err := c.SettlePaywall(t.Context(), params)
			require.NoError(t, err)
			require.Equal(t, client.PaywallSettlement{Payer: paid.Payer, TransactionID: paid.TransactionID, ErrorReason: reason}, again)
			page := opened(t, receiptOf(t, c, paid.TransactionID).ReceiptURL, nil)
			require.Contains(t, page, strings.ToUpper(reason[:1])+reason[1:]+"</span>")
			require.NotContains(t, page, "Paid<")
		})
	}
}

// TestReversedReceiptSaysSo: a payment that was taken back has a status of its own.
func TestReversedReceiptSaysSo(t *testing.T) {
	t.Parallel()
	srv, reverse := takingBack(t)
	paid, err := srv.Client().Charge(t.Context(), client.ChargeParams{
		Mandate:     srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000}),
		AmountCents: 100, Currency: client.USD, Description: "a report",
	})
	require.NoError(t, err)
	reverse(paid.TransactionID)
	require.Equal(t, client.Reversed, receiptOf(t, srv.Client(), paid.TransactionID).Status)
}

func receiptOf(t *testing.T, c *client.Client, transactionID string) client.Receipt {
	t.Helper()
	r, err := c.Receipt(t.Context(), transactionID)
	require.NoError(t, err)
	return r
}

// TestReversedChargeIsNotAnsweredAsCompleted: a repeat under the charge's key reports
// the reversal.
func TestReversedChargeIsNotAnsweredAsCompleted(t *testing.T) {
	t.Parallel()
	srv, reverse := takingBack(t)
	params := client.ChargeParams{
		Mandate:     srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000}),
		AmountCents: 100, Currency: client.USD, Description: "a report", IdempotencyKey: "charge-1",
	}
	for _, want := range []client.Status{client.Completed, client.Completed, client.Reversed} {
		got, err := srv.Client().Charge(t.Context(), params)
		require.NoError(t, err)
		require.Equal(t, want, got.Status)
		require.Equal(t, want == client.Completed, got.Status.Paid())
		if got.Replayed && want == client.Completed {
			reverse(got.TransactionID)
		}
	}
}

// TestUndoneCheckoutIsNotPaid: a checkout whose payment was taken or given back has failed, for
// the merchant and on its page.
func TestUndoneCheckoutIsNotPaid(t *testing.T) {
	t.Parallel()
	for reason, undo := range undone {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			srv, reverse := takingBack(t)
			c := srv.Client()
			params := client.CheckoutParams{AmountCents: 500, Description: "100 requests", ReturnURL: "https://shop.example/back", IdempotencyKey: "order-1"}
			made, err := c.CreateCheckout(t.Context(), params)
			require.NoError(t, err)
			require.Contains(t, opened(t, made.URL, url.Values{"method": {"card_visa"}}), "You paid")
			paid, err := c.Checkout(t.Context(), made.ID)
			require.NoError(t, err)
			require.Equal(t, client.CheckoutPaid, paid.Status)

			undo(t, c, reverse, paid.TransactionID)
			byID, err := c.Checkout(t.Context(), made.ID)
			require.NoError(t, err)
			byKey, err := c.CreateCheckout(t.Context(), params)
			require.NoError(t, err)
			for _, got := range []client.Checkout{byID, byKey} {
				require.Equal(t, []any{client.CheckoutFailed, reason, paid.TransactionID}, []any{got.Status, got.FailureReason, got.TransactionID})
			}
			page := opened(t, made.URL, nil)
			require.Contains(t, page, "The payment was "+reason)
			require.NotContains(t, page, "You paid")
		})
	}
}

// TestSandboxReversesAPayment: the merchant receives payment.reversed once, however often the
// helper is called, and a payment that did not succeed cannot be reversed.
func TestSandboxReversesAPayment(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	hook, merchant := srv.Webhook(t, webhook.PaymentReversed), srv.Client()
	charge := func(method string) string {
		t.Helper()
		m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 1000, PaymentMethods: []string{method}})
		ch, err := merchant.Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 250, Currency: client.USD, Description: "test"})
		require.NoError(t, err)
		return ch.TransactionID
	}
	for _, id := range []string{"txn_none", charge("card_decline_after_setup")} {
		_, err := merchant.ReverseTestPayment(t.Context(), id)
		require.ErrorIs(t, err, client.ErrNotFound, id)
	}
	first, second := charge("card_visa"), charge("card_visa")
	for _, id := range []string{first, first, second} {
		r, err := merchant.ReverseTestPayment(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, client.Reversal{TransactionID: id, Status: client.PaymentReversed}, r)
	}
	reversed := map[string]int{}
	for range 2 {
		var p webhook.Payment
		require.NoError(t, json.Unmarshal(hook.Next(t).Data, &p))
		reversed[p.TransactionID]++
	}
	require.Equal(t, map[string]int{first: 1, second: 1}, reversed, "events of different mandates are in no order, and none is doubled")
}
