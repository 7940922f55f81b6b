package ledgertest

import (
	"context"
	"errors"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// modelRefunds are the refunds that the ledger should hold of one mandate.
type modelRefunds struct {
	paid    map[string]ledger.Charge // succeeded
	pending map[string]ledger.Refund
	ended   map[string]ledger.RefundStatus
	asked   int
}

// sums returns what was given back of a charge, and what waits for its rail.
func (w *modelRefunds) sums(c ledger.Charge) (back, waiting ledger.Micros) {
	for _, r := range w.pending {
		if r.ChargeID == c.ID {
			waiting += r.Amount
		}
	}
	return w.paid[c.ID].Refunded, waiting
}

// modelRefund begins a refund of a part of a charge, or of more than is left of it.
func (b *bench) modelRefund(rt *rapid.T, store *crashing, want *model) {
	ctx := context.Background()
	c := pick(rt, want.refunds.paid)
	want.refunds.asked++
	back, waiting := want.refunds.sums(c)
	left := c.Amount - back - waiting
	q := b.refundOf(c, ledger.Micros(rapid.Int64Range(1, int64(c.Amount)).Draw(rt, "refunded")), c.ID+string(rune('a'+want.refunds.asked)))
	var r ledger.Refund
	err := again(rt, store, func() (err error) {
		r, _, err = b.Refund(ctx, q)
		return err
	})
	if q.Amount > left {
		require.ErrorIs(rt, err, ledger.ErrAboveCharge)
		return
	}
	if errors.Is(err, ledger.ErrIdempotencyInProgress) { // the answer of the first was lost
		all, listErr := b.RefundsOf(ctx, c.ID, 0, ledger.MaxRefunds)
		require.NoError(rt, listErr)
		r, err = all[len(all)-1], nil
	}
	require.NoError(rt, err)
	require.Equal(rt, []any{ledger.RefundID(q.MerchantID, q.IdempotencyKey), q.Amount, ledger.RefundPending}, []any{r.ID, r.Amount, r.Status})
	want.refunds.pending[r.ID] = r
}

// modelSettleRefund decides a refund. What is given back counts nowhere any more, except as a
// payment.
func (b *bench) modelSettleRefund(rt *rapid.T, store *crashing, want *model) {
	r := pick(rt, want.refunds.pending)
	outcome, status := gaveBack, ledger.RefundSucceeded
	if rapid.IntRange(0, 3).Draw(rt, "refused") == 0 {
		outcome, status = rail.Outcome{Status: rail.Refused, Reason: rail.CardDeclined}, ledger.RefundFailed
	}
	var got ledger.Refund
	require.NoError(rt, again(rt, store, func() (err error) {
		got, err = b.SettleRefund(context.Background(), r, outcome)
		return err
	}))
	require.Equal(rt, status, got.Status)
	delete(want.refunds.pending, r.ID)
	want.refunds.ended[r.ID] = status
	if status == ledger.RefundSucceeded {
		c := want.refunds.paid[r.ChargeID]
		c.Refunded += r.Amount
		want.refunds.paid[c.ID], want.counted[c.ID] = c, c
	}
}

// compareRefunds compares the refunds of the database with the model.
func (b *bench) compareRefunds(rt *rapid.T, want *model) {
	for id, c := range want.refunds.paid {
		stored, err := b.Charge(context.Background(), id)
		require.NoError(rt, err)
		back, waiting := want.refunds.sums(c)
		require.Equal(rt, []any{ledger.ChargeSucceeded, back, waiting}, []any{stored.Status, stored.Refunded, stored.Refunding})
		all, err := b.RefundsOf(context.Background(), id, 0, ledger.MaxRefunds)
		require.NoError(rt, err)
		for _, r := range all {
			if _, pending := want.refunds.pending[r.ID]; pending {
				require.Equal(rt, ledger.RefundPending, r.Status)
			} else {
				require.Equal(rt, want.refunds.ended[r.ID], r.Status)
			}
		}
	}
}
