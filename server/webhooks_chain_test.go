package server_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/webhook"
)

// TestEventsOfTheChain: the same types as of cards, with what is the chain's own.
func TestEventsOfTheChain(t *testing.T) {
	t.Parallel()
	c := onChain(t)
	hook := c.Webhook(t)
	m := c.mandate(t, 500, 1000, "wallet")
	created := nextOf[webhook.Mandate](t, hook, webhook.MandateCreated)
	require.Equal(t, []string{"chainrail"}, created.Rails)

	paid := c.chargeIn(t, m, 250, client.USDC)
	require.Equal(t, client.Completed, paid.Status, paid.FailureReason)
	require.Equal(t, webhook.Payment{
		TransactionID: paid.TransactionID, MandateID: created.MandateID, Source: "mandate", AmountCents: 250, AmountMicros: 2_500_000, Rail: "chainrail",
		Status: "succeeded", TxHash: paid.TxHash,
	}, nextOf[webhook.Payment](t, hook, webhook.PaymentSucceeded))

	_, err := c.Client().Revoke(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, "merchant", nextOf[webhook.Mandate](t, hook, webhook.MandateRevoked).RevokedBy)

	empty := c.mandate(t, 500, 1000, "wallet_empty")
	owner := nextOf[webhook.Mandate](t, hook, webhook.MandateCreated).MandateID
	failed := c.chargeIn(t, empty, 100, client.USDC)
	require.Equal(t, client.Failed, failed.Status)
	got := nextOf[webhook.Payment](t, hook, webhook.PaymentFailed)
	require.Equal(t, []any{failed.TransactionID, owner, "chainrail", "failed", string(failed.FailureReason)},
		[]any{got.TransactionID, got.MandateID, got.Rail, got.Status, got.FailureReason})
}

// nextOf is the data of the next event, which is of a type.
func nextOf[Data any](t *testing.T, hook *servertest.Receiver, kind webhook.Type) (d Data) {
	t.Helper()
	e := hook.Next(t)
	require.Equal(t, kind, e.Type)
	require.NoError(t, json.Unmarshal(e.Data, &d))
	return d
}
