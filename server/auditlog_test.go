package server_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// TestAuditLogHasWhatMerchantsAndPersonsDid: each action once, with its actor, address and
// request, and no secret. A charge has no entry.
func TestAuditLogHasWhatMerchantsAndPersonsDid(t *testing.T) {
	t.Parallel()
	c, o, _ := operated(t)
	ctx, api := t.Context(), c.Client()
	m := c.confirm(t, client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000}, nil)
	mandateID := func() string {
		b, err := api.Balance(ctx, m.mandate)
		require.NoError(t, err)
		return b.MandateID
	}()
	paid := c.chargeIn(t, m.mandate, 200, client.USD)
	p := client.RefundParams{AmountCents: 50, IdempotencyKey: "refund 1"}
	var refund client.Refund
	var err error
	for range 2 { // a repeat is no action
		refund, err = api.Refund(ctx, paid.TransactionID, p)
		require.NoError(t, err)
	}
	captured, voided := c.authorize(t, m.mandate, 100, client.USD), c.authorize(t, m.mandate, 100, client.USD)
	_, err = api.Capture(ctx, captured.TransactionID, client.CaptureParams{AmountCents: 60, IdempotencyKey: "capture"})
	require.NoError(t, err)
	_, err = api.Void(ctx, voided.TransactionID)
	require.NoError(t, err)
	e, err := api.CreateWebhookEndpoint(ctx, client.WebhookEndpointParams{URL: "http://127.0.0.1:9/hook?token=s3cret"})
	require.NoError(t, err)
	_, err = api.RotateWebhookSecret(ctx, e.ID)
	require.NoError(t, err)
	_, err = api.DeleteWebhookEndpoint(ctx, e.ID)
	require.NoError(t, err)
	status, page := c.form(t, m.link+"/limits", url.Values{"maxPerTx": {"3"}, "maxMonthly": {"20"}})
	require.Equal(t, http.StatusOK, status, page)
	c.form(t, m.link+"/stop", url.Values{})
	other := c.mandate(t, 500, 500)
	_, err = api.Revoke(ctx, other)
	require.NoError(t, err)
	did := func(actor string) (all []string) {
		log, err := o.AuditLog(ctx, actor, "", 100)
		require.NoError(t, err)
		for _, e := range log {
			require.Regexp(t, `address=127\.0\.0\.1 request=req_`, e.Detail)
			for _, secret := range []string{"s3cret", m.mandate, c.merchant.APIKey, "@"} {
				require.NotContains(t, fmt.Sprint(e), secret)
			}
			about, _, _ := strings.Cut(e.Detail, "address=")
			all = append(all, strings.TrimSpace(e.Action+" "+e.Subject+" "+about))
		}
		slices.Sort(all)
		return all
	}
	want := []string{
		"charge.capture " + captured.TransactionID + " amountMicros=600000", "charge.void " + voided.TransactionID, "endpoint.create " + e.ID,
		"endpoint.delete " + e.ID, "endpoint.rotate-secret " + e.ID, "mandate.revoke ",
		"refund.create " + paid.TransactionID + " refundId=" + refund.ID + " amountMicros=500000",
	}
	var got []string
	require.Eventually(t, func() bool { // captures and voids are stored soon
		got = did("merchant:" + c.merchant.ID)
		return len(got) >= len(want)
	}, 10*time.Second, 5*time.Millisecond)
	require.Len(t, got, len(want))
	for i := range want {
		require.Contains(t, got[i], want[i])
	}
	require.Equal(t, []string{"mandate.confirm " + mandateID + " merchantId=" + c.merchant.ID, "mandate.lower " + mandateID, "mandate.revoke " + mandateID},
		did("person:"+mandateID))
}
