package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/webhook"
)

// tabbed is a service with draws, whose books can be compared with the card's processor.
type tabbed struct {
	caller

	config *server.Config
}

func withDraws(t *testing.T) tabbed {
	t.Helper()
	var b tabbed
	b.caller = setup(t, &servertest.Options{Configure: func(cfg *server.Config) { b.config = cfg }})
	return b
}

func (b tabbed) draw(t *testing.T, mandate string, cents int64) client.Charge {
	t.Helper()
	ch, err := b.Client().Charge(t.Context(), client.ChargeParams{Mandate: mandate, AmountCents: cents, Currency: client.USD, Description: "small", Tab: true})
	require.NoError(t, err)
	require.Equal(t, client.Authorized, ch.Status, ch.FailureReason)
	return ch
}

// closed closes the tab of a draw, and waits for its end.
func (b tabbed) closed(t *testing.T, draw client.Charge) client.Tab {
	t.Helper()
	_, err := b.Client().CloseTab(t.Context(), draw.TabID)
	require.NoError(t, err)
	for _, tab := range b.settledTabs(t) {
		if tab.ID == draw.TabID {
			return tab
		}
	}
	require.FailNow(t, "no such tab")
	return client.Tab{}
}

// agree compares ledger and processor.
func (b tabbed) agree(t *testing.T) server.Reconciliation {
	t.Helper()
	report, err := b.CheckLedger(t.Context())
	require.NoError(t, err)
	require.Empty(t, report.Faults)
	b.Clock.Advance(2 * time.Hour)
	r, err := server.Reconcile(t.Context(), server.ReconcileConfig{Ledger: b.config.Store, Rails: b.config.Rails, Clock: b.Clock.Now}, func(d server.Difference) error {
		t.Errorf("%+v", d)
		return nil
	})
	require.NoError(t, err)
	return r
}

// TestDrawOfAnOpenTabIsRefunded: in full, without the card, and nothing of it is captured. A
// part is refused with the time from which it is possible.
func TestDrawOfAnOpenTabIsRefunded(t *testing.T) {
	t.Parallel()
	b := withDraws(t)
	hook := b.Webhook(t, webhook.PaymentVoided)
	private := b.confirm(t, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}, nil)
	m := private.mandate
	draw := b.draw(t, m, 30)
	b.draw(t, m, 40)
	b.draw(t, m, 20)
	part := b.do(t, http.MethodPost, "/v1/payments/"+draw.TransactionID+"/refunds", `{"amountCents":10,"idempotencyKey":"part"}`)
	part.refused(t, http.StatusConflict, "not_refundable")
	require.Contains(t, part.Text, "in full only")
	require.Contains(t, part.Text, "closes by 20")
	for range 2 {
		refund, err := b.Client().Refund(t.Context(), draw.TransactionID, client.RefundParams{IdempotencyKey: "all"})
		require.NoError(t, err)
		require.Equal(t, []any{client.RefundSucceeded, int64(30), ""}, []any{refund.Status, refund.AmountCents, refund.ProcessorRefundID})
	}
	page := b.page(t, private.link).ok(t).Text
	for _, text := range []string{"2 small payments", "$0.60<", "$0.30 refunded"} {
		require.Contains(t, page, text)
	}
	require.NotContains(t, page, "more</li>")
	event := hook.Next(t)
	require.Equal(t, webhook.PaymentVoided, event.Type)
	require.Contains(t, string(event.Data), `"rfd_`)
	require.EqualValues(t, 60, b.spentCents(t, m))
	receipt, err := b.Client().Receipt(t.Context(), draw.TransactionID)
	require.NoError(t, err)
	require.Equal(t, client.Voided, receipt.Status)
	require.Contains(t, b.page(t, receipt.ReceiptURL).ok(t).Text, "gave the payment back")
	require.EqualValues(t, 60, b.closed(t, draw).CapturedCents)
	require.EqualValues(t, 2, b.agree(t).Charges)
}

// TestSmallRestIsRoundedUpIfThePersonAgreed: on the setup page, signed into the mandate, and once
// the mandate has ended. Without that the rest is written off, and not shown as paid.
func TestSmallRestIsRoundedUpIfThePersonAgreed(t *testing.T) {
	t.Parallel()
	b := withDraws(t)
	for _, agreed := range []bool{true, false} {
		form := map[string]string{}
		if agreed {
			form["roundUpRest"] = "yes"
		}
		private := b.confirm(t, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}, form)
		signed, err := (&mandate.Verifier{Issuer: b.URL, Keys: mandate.RemoteKeys(b.URL + "/.well-known/jwks.json"), Clock: b.Clock.Now}).Verify(t.Context(), private.mandate)
		require.NoError(t, err)
		require.Equal(t, agreed, signed.Limits.RoundUpRest)
		balance, err := b.Client().Balance(t.Context(), private.mandate)
		require.NoError(t, err)
		require.Equal(t, agreed, balance.RoundUpRest)
		const sentence = "a remainder of small payments below $0.50 is charged as $0.50, once."
		require.Equal(t, agreed, strings.Contains(b.page(t, private.link).ok(t).Text, sentence))
		require.Equal(t, agreed, strings.Contains(private.page, sentence))
		draw := b.draw(t, private.mandate, 30)
		require.Contains(t, b.page(t, private.link).ok(t).Text, "$0.00 paid in all")
		_, err = b.Client().Revoke(t.Context(), private.mandate)
		require.NoError(t, err)
		tab := client.Tab{}
		require.Eventually(t, func() bool {
			for _, one := range b.settledTabs(t) {
				if one.ID == draw.TabID {
					tab = one
				}
			}
			return tab.CloseReason == "revoked"
		}, time.Minute, 20*time.Millisecond)
		page := b.page(t, private.link).ok(t).Text
		if agreed {
			require.Equal(t, []any{client.TabClosed, int64(50)}, []any{tab.Status, tab.CapturedCents})
			require.Contains(t, page, "$0.50 paid in all")
		} else {
			require.Equal(t, client.TabVoided, tab.Status)
			require.Contains(t, page, "$0.00 paid in all")
		}
	}
	b.agree(t)
}

// TestWrittenOffDrawIsRefundedOnce: to the operator as long as no card has paid it, and by the
// card that paid it later.
func TestWrittenOffDrawIsRefundedOnce(t *testing.T) {
	t.Parallel()
	b := withDraws(t)
	m := b.mandate(t, 100, 5000, "card_visa")
	first := b.draw(t, m, 45)
	require.Equal(t, client.TabVoided, b.closed(t, first).Status)
	refund, err := b.Client().Refund(t.Context(), first.TransactionID, client.RefundParams{AmountCents: 15})
	require.NoError(t, err)
	require.Equal(t, []any{client.RefundSucceeded, ""}, []any{refund.Status, refund.ProcessorRefundID})
	require.EqualValues(t, 70, b.closed(t, b.draw(t, m, 40)).CapturedCents, "30 of the first draw, and 40")
	refund, err = b.Client().Refund(t.Context(), first.TransactionID, client.RefundParams{})
	require.NoError(t, err)
	require.Equal(t, []any{client.RefundSucceeded, int64(30)}, []any{refund.Status, refund.AmountCents}, refund.FailureReason)
	require.NotEmpty(t, refund.ProcessorRefundID)
	require.EqualValues(t, 40, b.spentCents(t, m))
	report, err := b.CheckLedger(t.Context())
	require.NoError(t, err)
	require.Zero(t, report.Advanced)
	b.agree(t)
}
