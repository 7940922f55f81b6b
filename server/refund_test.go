package server_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/webhook"
)

func TestRefundGivesTheBudgetBack(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	hook := c.Webhook(t, webhook.PaymentRefunded)
	m := c.mandate(t, 500, 500)
	paid := c.chargeIn(t, m, 500, client.USD)
	c.charge(t, m, 1, "full").refused(t, 402, "monthly")
	p := client.RefundParams{AmountCents: 200, Reason: "two of five were late", IdempotencyKey: "refund 1"}
	first, err := c.Client().Refund(t.Context(), paid.TransactionID, p)
	require.NoError(t, err)
	require.Equal(t, []any{client.RefundSucceeded, int64(200), paid.TransactionID}, []any{first.Status, first.AmountCents, first.TransactionID})
	require.NotEmpty(t, first.ProcessorRefundID)
	again, err := c.Client().Refund(t.Context(), paid.TransactionID, p)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.ID, again.ID)
	p.AmountCents = 201
	_, err = c.Client().Refund(t.Context(), paid.TransactionID, p)
	require.ErrorIs(t, err, client.ErrIdempotencyMismatch)
	e := hook.Next(t)
	require.Contains(t, string(e.Data), first.ID)
	require.EqualValues(t, 300, c.spentCents(t, m))
	c.charge(t, m, 200, "again").ok(t)

	_, err = c.Client().Refund(t.Context(), paid.TransactionID, client.RefundParams{AmountCents: 301})
	require.ErrorIs(t, err, client.ErrValidation)
	rest, err := c.Client().Refund(t.Context(), paid.TransactionID, client.RefundParams{})
	require.NoError(t, err)
	require.EqualValues(t, 300, rest.AmountCents)
	list, err := c.Client().RefundsPage(t.Context(), paid.TransactionID, client.ListParams{})
	require.NoError(t, err)
	require.Len(t, list.Data, 2)
	receipt, err := c.Client().Receipt(t.Context(), paid.TransactionID)
	require.NoError(t, err)
	require.EqualValues(t, 500, receipt.RefundedCents)
	stats, err := c.Client().Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{700, 500}, []int64{stats.TotalVolumeCents, stats.RefundedCents})
	transactions, err := c.Client().TransactionsPage(t.Context(), client.ListParams{})
	require.NoError(t, err)
	require.Equal(t, []int64{0, 500}, []int64{transactions.Data[0].RefundedCents, transactions.Data[1].RefundedCents})
	page := c.do(t, "GET", receipt.ReceiptURL[len(c.URL):], "")
	require.Contains(t, page.Text, "Refunded")
	c.sound(t, 2)
}

func TestPaymentsThatCannotBeRefunded(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	held := c.authorize(t, c.mandate(t, 500, 1000), 100, client.USD)
	_, err := c.Client().Refund(t.Context(), held.TransactionID, client.RefundParams{AmountCents: 50})
	require.ErrorIs(t, err, client.ErrNotRefundable)
	_, err = c.Client().Refund(t.Context(), "txn_01ARZ3NDEKTSV4RRFFQ69G5FAV", client.RefundParams{})
	require.ErrorIs(t, err, client.ErrNotFound)
	_, err = c.Client().RefundsPage(t.Context(), "txn_01ARZ3NDEKTSV4RRFFQ69G5FAV", client.ListParams{})
	require.ErrorIs(t, err, client.ErrNotFound)
	paid := c.chargeIn(t, c.mandate(t, 500, 1000), 100, client.USD)
	for param, body := range map[string]string{
		"amountCents": `{"amountCents":0,"idempotencyKey":"k"}`, "idempotencyKey": `{"amountCents":1}`,
		"reason": `{"reason":"a\u0000b","idempotencyKey":"k"}`,
	} {
		require.Equal(t, param, c.do(t, "POST", "/v1/payments/"+paid.TransactionID+"/refunds", body).refused(t, 400, "validation_error").str("param"))
	}
}

// TestPaymentHasAtMost100Refunds: each is listed, in pages too.
func TestPaymentHasAtMost100Refunds(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	paid := c.chargeIn(t, c.mandate(t, 500, 500), 500, client.USD)
	refund := func(key string) (client.Refund, error) {
		return c.Client().Refund(t.Context(), paid.TransactionID, client.RefundParams{AmountCents: 1, IdempotencyKey: key})
	}
	var made []string
	for i := range 100 {
		r, err := refund(strconv.Itoa(i))
		require.NoError(t, err)
		made = append(made, r.ID)
	}
	_, err := refund("one more")
	require.ErrorIs(t, err, client.ErrTooManyRefunds)
	again, err := refund("0")
	require.NoError(t, err)
	require.True(t, again.Replayed)
	all, err := c.Client().RefundsPage(t.Context(), paid.TransactionID, client.ListParams{})
	require.NoError(t, err)
	require.Len(t, all.Data, 100)
	require.False(t, all.HasMore)
	var listed []string
	for r, err := range c.Client().Refunds(t.Context(), paid.TransactionID, client.ListParams{Limit: 40}) {
		require.NoError(t, err)
		listed = append(listed, r.ID)
	}
	require.Equal(t, made, listed)
	page, err := c.Client().RefundsPage(t.Context(), paid.TransactionID, client.ListParams{Limit: 40, StartingAfter: made[59]})
	require.NoError(t, err)
	require.False(t, page.HasMore)
	require.Len(t, page.Data, 40)

	other := c.chargeIn(t, c.mandate(t, 500, 500), 100, client.USD)
	_, err = c.Client().RefundsPage(t.Context(), other.TransactionID, client.ListParams{StartingAfter: made[0]})
	require.ErrorIs(t, err, client.ErrValidation, "a refund of another payment")
	_, err = c.Client().RefundsPage(t.Context(), other.TransactionID, client.ListParams{Limit: 101})
	require.ErrorIs(t, err, client.ErrValidation)
	c.sound(t, 2)
}

// TestRefusedRefundGivesNothingBack: the budget stays used, and the merchant may try again.
func TestRefusedRefundGivesNothingBack(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{})
	m := c.mandate(t, 500, 500, "card_refund_refused")
	paid := c.chargeIn(t, m, 500, client.USD)
	r, err := c.Client().Refund(t.Context(), paid.TransactionID, client.RefundParams{})
	require.NoError(t, err)
	require.Equal(t, client.RefundFailed, r.Status)
	require.NotEmpty(t, r.FailureReason)
	require.EqualValues(t, 500, c.spentCents(t, m))
	c.sound(t, 1)
}

// TestRefundWhoseAnswerIsLostIsFinishedOnce: recovery asks the processor again, which gives the
// money back once.
func TestRefundWhoseAnswerIsLostIsFinishedOnce(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 500, 500, "card_lost_answer")
	paid := c.chargeIn(t, m, 500, client.USD)
	succeeded := func() bool {
		r, err := c.Client().Receipt(t.Context(), paid.TransactionID)
		return err == nil && r.Status == client.Succeeded
	}
	c.Clock.Advance(time.Minute)
	require.Eventually(t, succeeded, 10*time.Second, 20*time.Millisecond)
	r, err := c.Client().Refund(t.Context(), paid.TransactionID, client.RefundParams{AmountCents: 300})
	require.NoError(t, err)
	require.Equal(t, client.RefundPending, r.Status)
	_, err = c.Client().Refund(t.Context(), paid.TransactionID, client.RefundParams{AmountCents: 201})
	require.ErrorIs(t, err, client.ErrValidation, "what is pending cannot be given back again")
	c.Clock.Advance(time.Minute)
	require.Eventually(t, func() bool {
		list, err := c.Client().RefundsPage(t.Context(), paid.TransactionID, client.ListParams{})
		return err == nil && list.Data[0].Status == client.RefundSucceeded
	}, 10*time.Second, 20*time.Millisecond)
	require.EqualValues(t, 200, c.spentCents(t, m))
	c.sound(t, 1)
}
