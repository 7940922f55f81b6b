package payment_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// charge charges a mandate of both rails, the chain first.
func (b *bench) charge(t *testing.T, token, key string) ledger.Charge {
	t.Helper()
	c, err := b.Charge(t.Context(), b.request(token, key))
	require.NoError(t, err)
	return c.Charge
}

func (b *bench) request(token, key string) payment.ChargeRequest {
	return payment.ChargeRequest{
		Payee: b.merchant, Token: token, Amount: 10_000, Currency: "usdc", Description: "test", IdempotencyKey: key, RequestID: "req_" + key,
	}
}

// finished waits until recovery has decided a charge.
func (b *bench) finished(t *testing.T, c ledger.Charge) ledger.Charge {
	t.Helper()
	require.Eventually(t, func() bool {
		b.time.Advance(time.Minute) // past any put-off
		var err error
		c, err = b.Ledger.Charge(t.Context(), c.ID)
		require.NoError(t, err)
		return c.Status != ledger.ChargePending
	}, time.Minute, 50*time.Millisecond)
	return c
}

// TestNoRailIsAskedFirstAfterRevocation: the chain refuses a pending charge because
// its mandate was revoked; the card is not charged instead.
func TestNoRailIsAskedFirstAfterRevocation(t *testing.T) {
	t.Parallel()
	b := both(t)
	m, token := b.confirmed(t)
	b.chain.answer(rail.Outcome{Status: rail.Pending}, nil)
	c := b.charge(t, token, "k")
	require.Equal(t, ledger.ChargePending, c.Status)
	_, err := b.Revoke(t.Context(), b.merchant.ID, m.ID)
	require.NoError(t, err)
	b.chain.answer(rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}, nil)
	b.Start(t.Context())
	c = b.finished(t, c)
	require.Equal(t, ledger.ChargeFailed, c.Status)
	require.Empty(t, b.card.charges())
}

// TestFallbackBegunBeforeRevocationIsRecorded: the card was asked before the
// revocation and moved the money; recovery finds that out.
func TestFallbackBegunBeforeRevocationIsRecorded(t *testing.T) {
	t.Parallel()
	b := both(t)
	m, token := b.confirmed(t)
	b.chain.answer(rail.Outcome{Status: rail.Refused, Reason: rail.InsufficientFunds}, nil)
	b.card.answer(rail.Outcome{}, errNoAnswer)
	c := b.charge(t, token, "k")
	require.Equal(t, ledger.ChargePending, c.Status)
	_, err := b.Revoke(t.Context(), b.merchant.ID, m.ID)
	require.NoError(t, err)
	b.card.answer(rail.Outcome{Status: rail.Succeeded, ProcessorID: "pay_1"}, nil)
	b.Start(t.Context())
	c = b.finished(t, c)
	require.Equal(t, ledger.ChargeSucceeded, c.Status)
	require.Equal(t, rail.Card, c.Rail)
}

// reserved is a charge of a mandate whose process ended before it asked a rail.
func (b *bench) reserved(t *testing.T, m ledger.Mandate, key string) ledger.Charge {
	t.Helper()
	r, err := b.Ledger.Reserve(t.Context(), ledger.Reserve{
		ChargeID: id.New(id.Charge, b.time.Now()), MandateID: m.ID, TokenValid: true, Payee: b.merchant, Amount: 10_000, Currency: "usdc",
		Rails: []rail.Name{rail.Chain, rail.Card}, IdempotencyKey: key, Fingerprint: key, Lease: time.Second,
	})
	require.NoError(t, err)
	return r.Charge
}

// TestRecoveryAsksNoRailFirstAfterTheMandateEnded: the process ended after the
// reservation and before it asked a rail, and then the mandate ended.
func TestRecoveryAsksNoRailFirstAfterTheMandateEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testing.T, *bench, ledger.Mandate){
		"revoked": func(t *testing.T, b *bench, m ledger.Mandate) {
			t.Helper()
			_, err := b.Revoke(t.Context(), b.merchant.ID, m.ID)
			require.NoError(t, err)
		},
		"expired": func(_ *testing.T, b *bench, m ledger.Mandate) {
			b.time.Advance(m.Terms.ExpiresAt.Sub(b.time.Now()) + time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := both(t)
			m, _ := b.confirmed(t)
			c := b.reserved(t, m, "k")
			end(t, b, m)
			require.NoError(t, b.Start(t.Context()))
			c = b.finished(t, c)
			require.Equal(t, ledger.ChargeFailed, c.Status)
			require.Equal(t, rail.Unavailable, c.FailureReason)
			require.Empty(t, b.chain.charges())
			require.Empty(t, b.card.charges())
			m, err := b.Ledger.Mandate(t.Context(), m.ID)
			require.NoError(t, err)
			require.Zero(t, m.Windows[0].Used, "the amount is given back")
		})
	}
}

// TestChargeThatMayBeOnItsWayIsNotGivenUp: right after a revocation, a rail that has
// not seen a charge may still see it, from a process that asked before.
func TestChargeThatMayBeOnItsWayIsNotGivenUp(t *testing.T) {
	t.Parallel()
	b := both(t)
	m, _ := b.confirmed(t)
	c := b.reserved(t, m, "k")
	_, err := b.Revoke(t.Context(), b.merchant.ID, m.ID)
	require.NoError(t, err)
	b.time.Advance(5 * time.Second)
	require.NoError(t, b.Start(t.Context()))
	require.Eventually(t, func() bool { // it was leased and put off
		c, err = b.Ledger.Charge(t.Context(), c.ID)
		require.NoError(t, err)
		return c.Asked >= 2
	}, time.Minute, 20*time.Millisecond)
	require.Equal(t, ledger.ChargePending, c.Status)
	b.chain.arrives(c.ID)
	c = b.finished(t, c)
	require.Equal(t, ledger.ChargeSucceeded, c.Status)
	require.Equal(t, rail.Chain, c.Rail)
}

// TestRefusalWithoutReasonEndsTheCharge: it is a processor_error, and not pending forever.
func TestRefusalWithoutReasonEndsTheCharge(t *testing.T) {
	t.Parallel()
	b := both(t)
	_, token := b.confirmed(t)
	b.chain.answer(rail.Outcome{Status: rail.Refused}, nil)
	b.card.answer(rail.Outcome{Status: rail.Refused}, nil)
	c := b.charge(t, token, "k")
	require.Equal(t, ledger.ChargeFailed, c.Status)
	require.Equal(t, rail.ProcessorError, c.FailureReason)
	b.chain.answer(rail.Outcome{Status: rail.Refused}, rail.ErrReferenceReused)
	c = b.charge(t, token, "k2")
	require.Equal(t, rail.ProcessorError, c.FailureReason)
}

// TestSecondOutcomeThatDiffersIsAnError: and it is recorded and logged.
func TestSecondOutcomeThatDiffersIsAnError(t *testing.T) {
	t.Parallel()
	b := both(t)
	_, token := b.confirmed(t)
	b.chain.answer(rail.Outcome{Status: rail.Pending}, nil)
	c := b.charge(t, token, "k")
	_, err := b.Ledger.Settle(t.Context(), c, ledger.Settlement{Rail: rail.Chain, Outcome: rail.Outcome{Status: rail.Refused, Reason: rail.Reverted}})
	require.NoError(t, err)
	_, err = b.Ledger.Settle(t.Context(), c, ledger.Settlement{Rail: rail.Chain, Outcome: rail.Outcome{Status: rail.Succeeded, TxHash: "0x1"}})
	require.ErrorIs(t, err, ledger.ErrConflictingOutcome)
	list, err := b.Ledger.OutcomeConflicts(t.Context(), ledger.OutcomeConflict{}, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, c.ID, list[0].ChargeID)
}

// TestRequestsThatDifferInCurrencyDiffer: one key names one request.
func TestRequestsThatDifferInCurrencyDiffer(t *testing.T) {
	t.Parallel()
	b := both(t)
	_, token := b.confirmed(t)
	b.charge(t, token, "k")
	other := b.request(token, "k")
	other.Currency = "usd"
	_, err := b.Charge(t.Context(), other)
	require.ErrorIs(t, err, ledger.ErrIdempotencyMismatch)
}

// TestChargeIsFoundByItsKeyAfterItsSigningKeyWasRevoked: the request is the same
// one, though its token is no longer valid.
func TestChargeIsFoundByItsKeyAfterItsSigningKeyWasRevoked(t *testing.T) {
	t.Parallel()
	b := both(t)
	_, token := b.confirmed(t)
	c := b.charge(t, token, "k")
	b.keys.revoked.Store(true)
	again, err := b.Charge(t.Context(), b.request(token, "k"))
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, c.ID, again.ID)
	_, err = b.Charge(t.Context(), b.request(token, "another"))
	var refused *ledger.Refusal
	require.ErrorAs(t, err, &refused)
	require.Equal(t, ledger.MandateInvalid, refused.Code)
}

// TestChargeUndoneOnItsRailIsAConflict: the charge stays as it was, and the conflict is
// recorded once, however often it is reported. A pending charge fails, and what the
// ledger does not know is no error.
func TestChargeUndoneOnItsRailIsAConflict(t *testing.T) {
	t.Parallel()
	b := both(t)
	_, token := b.confirmed(t)
	b.chain.answer(rail.Outcome{Status: rail.Succeeded, TxHash: "0x1"}, nil)
	c := b.charge(t, token, "k")
	require.Equal(t, ledger.ChargeSucceeded, c.Status)
	undone := rail.Undone{Rail: rail.Chain, Reference: rail.Reference(c.ID, rail.Chain), TxHash: "0x1"}
	for range 2 {
		require.NoError(t, b.UndoneOnRail(t.Context(), undone))
	}
	list, err := b.Ledger.OutcomeConflicts(t.Context(), ledger.OutcomeConflict{}, 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, []any{c.ID, rail.Chain, ledger.Reversed, rail.Reverted, "0x1"},
		[]any{list[0].ChargeID, list[0].Rail, list[0].Status, list[0].Reason, list[0].TxHash})
	kept, err := b.Ledger.Charge(t.Context(), c.ID)
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeSucceeded, kept.Status)

	events, err := b.store.StreamEvents(t.Context(), c.MerchantID, 0, 10)
	require.NoError(t, err)
	require.Len(t, events, 3, "the mandate, the payment, and one reversal")
	require.Equal(t, webhook.PaymentReversed, events[2].Type)

	b.chain.answer(rail.Outcome{Status: rail.Pending}, nil)
	pending := b.charge(t, token, "k2")
	undone.Reference = rail.Reference(pending.ID, rail.Chain)
	require.NoError(t, b.UndoneOnRail(t.Context(), undone))
	kept, err = b.Ledger.Charge(t.Context(), pending.ID)
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeFailed, kept.Status)

	for _, strange := range []string{"", "txn_strange.chain"} {
		undone.Reference = strange
		require.NoError(t, b.UndoneOnRail(t.Context(), undone))
	}
}
