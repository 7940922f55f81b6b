package payment_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// TransferOutcome implements [rail.TransferFollower].
func (s *puppet) TransferOutcome(context.Context, string) (rail.Outcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.outcome, s.err
}

// TestInterruptedSettlementIsFinished: a signed transfer whose request ended is followed on
// its rail; one that the rail never had fails, and may be presented again.
func TestInterruptedSettlementIsFinished(t *testing.T) {
	t.Parallel()
	b := both(t)
	of := b.Transfers(ledger.SourceX402, "https://shop.example/a")
	signed := rail.SignedTransfer{Key: "k", Payer: "0xPayer", PayTo: "0xStranger", Amount: 7}
	reference, err := of.Begin(t.Context(), signed)
	require.NoError(t, err)
	b.chain.answer(rail.Outcome{}, errNoAnswer)
	require.NoError(t, b.Start(t.Context()))
	c, err := b.Ledger.Charge(t.Context(), reference)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		b.time.Advance(time.Minute)
		c, err = b.Ledger.Charge(t.Context(), reference)
		require.NoError(t, err)
		return c.Asked > 2
	}, time.Minute, 50*time.Millisecond)
	require.Equal(t, ledger.ChargePending, c.Status, "an error decides nothing")
	b.chain.answer(rail.Outcome{Status: rail.Unseen}, nil)
	c = b.finished(t, c)
	require.Equal(t, []any{ledger.ChargeFailed, rail.Unavailable}, []any{c.Status, c.FailureReason})

	again, err := of.Begin(t.Context(), signed)
	require.NoError(t, err)
	require.NotEqual(t, reference, again)
	require.NoError(t, of.End(t.Context(), again, rail.Outcome{Status: rail.Pending}))
	b.chain.answer(rail.Outcome{Status: rail.Succeeded, TxHash: "0x1"}, nil)
	c, err = b.Ledger.Charge(t.Context(), again)
	require.NoError(t, err)
	c = b.finished(t, c)
	require.Equal(t, []any{ledger.ChargeSucceeded, "0x1", "wallet:0xstranger", ledger.Micros(0)}, []any{c.Status, c.TxHash, c.MerchantID, c.Fee})
	require.NoError(t, of.End(t.Context(), again, rail.Outcome{Status: rail.Succeeded, TxHash: "0x1"}))
	require.NoError(t, of.End(t.Context(), again, rail.Outcome{Status: rail.Refused, Reason: rail.Reverted}), "recorded, and the money stays where it is")
	conflicts, err := b.Ledger.OutcomeConflicts(t.Context(), ledger.OutcomeConflict{}, 10)
	require.NoError(t, err)
	require.Len(t, conflicts, 1)
	require.Empty(t, b.card.charges())
}
