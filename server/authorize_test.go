package server_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/webhook"
)

func (c caller) authorize(t *testing.T, mandate string, cents int64, currency client.Currency) client.Charge {
	t.Helper()
	ch, err := c.Client().Authorize(t.Context(), client.AuthorizeParams{ChargeParams: client.ChargeParams{
		Mandate: mandate, AmountCents: cents, Currency: currency, Description: "metered",
	}})
	require.NoError(t, err)
	require.Equal(t, client.Authorized, ch.Status, ch.FailureReason)
	require.Equal(t, cents, ch.AuthorizedCents)
	require.NotNil(t, ch.AuthorizedUntil)
	return ch
}

func (c caller) spentCents(t *testing.T, mandate string) int64 {
	t.Helper()
	b, err := c.Client().Balance(t.Context(), mandate)
	require.NoError(t, err)
	return b.CurrentMonthlySpendCents
}

// TestAuthorizedPaymentIsCapturedOnceAndTheRestGivenBack: on either rail.
func TestAuthorizedPaymentIsCapturedOnceAndTheRestGivenBack(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	for currency, instrument := range map[client.Currency]string{client.USD: "card_visa", client.USDC: "wallet"} {
		m := c.mandate(t, 500, 1000, instrument)
		held := c.authorize(t, m, 400, currency)
		require.EqualValues(t, 400, c.spentCents(t, m))
		_, err := c.Client().Capture(t.Context(), held.TransactionID, client.CaptureParams{AmountCents: 401})
		require.ErrorIs(t, err, client.ErrValidation)
		p := client.CaptureParams{
			AmountCents: 150, IdempotencyKey: "capture " + held.TransactionID,
			Usage: &client.Usage{Unit: "token", Quantity: 1500, UnitPriceMicros: 1000},
		}
		captured, err := c.Client().Capture(t.Context(), held.TransactionID, p)
		require.NoError(t, err)
		require.Equal(t, []any{client.Completed, int64(150), int64(400)}, []any{captured.Status, captured.AmountCents, captured.AuthorizedCents})
		require.EqualValues(t, 150, c.spentCents(t, m))
		again, err := c.Client().Capture(t.Context(), held.TransactionID, p)
		require.NoError(t, err)
		require.True(t, again.Replayed)
		p.IdempotencyKey = "another"
		_, err = c.Client().Capture(t.Context(), held.TransactionID, p)
		require.ErrorIs(t, err, client.ErrAuthorizationEnded)
		_, err = c.Client().Void(t.Context(), held.TransactionID)
		require.ErrorIs(t, err, client.ErrAuthorizationEnded)
		receipt, err := c.Client().Receipt(t.Context(), held.TransactionID)
		require.NoError(t, err)
		require.Equal(t, []any{client.Succeeded, int64(150), int64(1_500_000), int64(400), p.Usage},
			[]any{receipt.Status, receipt.AmountCents, receipt.AmountMicros, receipt.AuthorizedCents, receipt.Usage})

		voided := c.authorize(t, m, 300, currency)
		for range 2 {
			v, err := c.Client().Void(t.Context(), voided.TransactionID)
			require.NoError(t, err)
			require.Equal(t, client.Voided, v.Status)
		}
		zero, err := c.Client().Capture(t.Context(), c.authorize(t, m, 300, currency).TransactionID, client.CaptureParams{})
		require.NoError(t, err)
		require.Equal(t, client.Voided, zero.Status)
		require.EqualValues(t, 150, c.spentCents(t, m))
	}
	c.sound(t, 2)
}

func TestAuthorizationExpires(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	hook := c.Webhook(t, webhook.PaymentAuthorized, webhook.PaymentVoided)
	m := c.mandate(t, 500, 1000)
	held := c.authorize(t, m, 400, client.USD)
	c.Clock.Advance(time.Hour)
	_, err := c.Client().Capture(t.Context(), held.TransactionID, client.CaptureParams{AmountCents: 100})
	require.ErrorIs(t, err, client.ErrAuthorizationEnded)
	second := c.authorize(t, m, 400, client.USD)
	c.Clock.Advance(time.Hour)
	require.Eventually(t, func() bool {
		r, err := c.Client().Receipt(t.Context(), second.TransactionID)
		return err == nil && r.Status == client.Voided
	}, 10*time.Second, 20*time.Millisecond)
	require.Zero(t, c.spentCents(t, m))
	for _, want := range []struct {
		kind webhook.Type
		of   client.Charge
	}{{webhook.PaymentAuthorized, held}, {webhook.PaymentVoided, held}, {webhook.PaymentAuthorized, second}, {webhook.PaymentVoided, second}} {
		e := hook.Next(t)
		require.Equal(t, want.kind, e.Type)
		require.Contains(t, string(e.Data), want.of.TransactionID)
	}
	c.sound(t, 0)
}

// TestRevocationLeavesWhatACardHolds: the processor's hold of before the revocation can be
// captured; the ledger's own, for the chain, cannot.
func TestRevocationLeavesWhatACardHolds(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	card, wallet := c.mandate(t, 500, 1000), c.mandate(t, 500, 1000, "wallet")
	byCard, onChain := c.authorize(t, card, 200, client.USD), c.authorize(t, wallet, 200, client.USDC)
	for _, m := range []string{card, wallet} {
		_, err := c.Client().Revoke(t.Context(), m)
		require.NoError(t, err)
	}
	_, err := c.Client().Capture(t.Context(), onChain.TransactionID, client.CaptureParams{AmountCents: 100})
	require.ErrorIs(t, err, client.ErrMandateRevoked)
	captured, err := c.Client().Capture(t.Context(), byCard.TransactionID, client.CaptureParams{AmountCents: 100})
	require.NoError(t, err)
	require.Equal(t, client.Completed, captured.Status)
	c.sound(t, 1)
}

// TestCapturesRaceAtTheLimit: every window is exact however many holds, captures and voids race.
func TestCapturesRaceAtTheLimit(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{})
	m := c.mandate(t, 100, 1000)
	var (
		all   sync.WaitGroup
		spent atomic.Int64
	)
	for n := range 60 {
		all.Go(func() {
			held, err := c.Client().Authorize(t.Context(), client.AuthorizeParams{ChargeParams: client.ChargeParams{
				Mandate: m, AmountCents: 100, Currency: client.USD, Description: "race",
			}})
			if err != nil {
				return
			}
			if n%3 == 0 {
				_, err = c.Client().Void(t.Context(), held.TransactionID)
			} else {
				var captured client.Charge
				captured, err = c.Client().Capture(t.Context(), held.TransactionID, client.CaptureParams{AmountCents: int64(n)})
				if captured.Status == client.Completed {
					spent.Add(captured.AmountCents)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	require.Equal(t, spent.Load(), c.spentCents(t, m))
	r, err := c.CheckLedger(t.Context())
	require.NoError(t, err)
	require.Empty(t, r.Faults)
	require.Zero(t, r.Authorized)
}

func TestBadAuthorizationsNameTheField(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 500, 1000)
	body := func(more string) string {
		return `{"intentMandate":"` + m + `","amountCents":100,"currency":"usd","description":"d","idempotencyKey":"k"` + more + `}`
	}
	for _, more := range []string{`,"expiresInSeconds":0`, `,"expiresInSeconds":604801`, `,"expiresInSeconds":-1`} {
		require.Equal(t, "expiresInSeconds", c.do(t, "POST", "/v1/payments/authorize", body(more)).refused(t, 400, "validation_error").str("param"))
	}
	held := c.authorize(t, m, 100, client.USD)
	capture := "/v1/payments/" + held.TransactionID + "/capture"
	for param, in := range map[string]string{
		"amountCents":           `{"idempotencyKey":"k"}`,
		"idempotencyKey":        `{"amountCents":1}`,
		"usage.unit":            `{"amountCents":1,"idempotencyKey":"k","usage":{"unit":"","quantity":1,"unitPriceMicros":1}}`,
		"usage.quantity":        `{"amountCents":1,"idempotencyKey":"k","usage":{"unit":"a","quantity":-1,"unitPriceMicros":1}}`,
		"usage.unitPriceMicros": `{"amountCents":1,"idempotencyKey":"k","usage":{"unit":"a","quantity":1,"unitPriceMicros":-1}}`,
	} {
		require.Equal(t, param, c.do(t, "POST", capture, in).refused(t, 400, "validation_error").str("param"))
	}
	c.do(t, "POST", "/v1/payments/txn_none/capture", `{"amountCents":1,"idempotencyKey":"k"}`).refused(t, 404, "not_found")
	c.do(t, "POST", "/v1/payments/txn_none/void", `{}`).refused(t, 404, "not_found")
	c.do(t, "POST", "/v1/payments/"+c.chargeIn(t, m, 100, client.USD).TransactionID+"/void", `{}`).refused(t, 409, "authorization_ended")
}
