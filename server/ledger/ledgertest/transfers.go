package ledgertest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

const payer = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"

func (b *bench) transfer(key string, amount ledger.Micros) ledger.Transfer {
	return ledger.Transfer{
		ChargeID: id.New(id.Charge, b.clock.Now()), Key: key, Payer: payer, Payee: b.merchant, PayTo: "0xPayee", Amount: amount,
		Source: ledger.SourceX402, Resource: "https://shop.example/a", Description: "Access to shop.example/a", Lease: 20 * time.Second,
	}
}

func (b *bench) begin(t require.TestingT, transfer ledger.Transfer) ledger.Charge {
	c, err := b.BeginTransfer(context.Background(), transfer)
	require.NoError(t, err)
	return c
}

func transferred(hash string) ledger.Settlement {
	return ledger.Settlement{Rail: rail.Chain, Outcome: rail.Outcome{Status: rail.Succeeded, TxHash: hash}}
}

func revertedOnChain() ledger.Settlement {
	return ledger.Settlement{Rail: rail.Chain, Outcome: rail.Outcome{Status: rail.Refused, Reason: rail.Reverted}}
}

// signedTransfers: a signed transfer is a charge like others, whose payer is a wallet.
func signedTransfers(t *testing.T, b *bench) {
	ctx := t.Context()
	c := b.begin(t, b.transfer("k", 50*cent))
	require.Equal(t, []any{ledger.ChargePending, ledger.SourceX402, true, payer}, []any{c.Status, c.Source, c.Direct(), c.Payer()})
	stored, err := b.Charge(ctx, c.ID)
	require.NoError(t, err)
	require.Equal(t, c.Source, stored.Source)
	require.Equal(t, c.ID, b.begin(t, b.transfer("k", 50*cent)).ID, "the same transfer")
	b.sound(t)
	for range 2 {
		c = b.settle(t, c, transferred("0x1"))
	}
	require.Equal(t, []any{ledger.ChargeSucceeded, 3 * cent / 2}, []any{c.Status, c.Fee})
	_, err = b.BeginTransfer(ctx, b.transfer("k", 50*cent))
	require.ErrorIs(t, err, ledger.ErrTransferEnded)
	require.NoError(t, b.store.Audit(ctx, func(a ledger.Audit) error {
		return a.Charges(ctx, func(_ ledger.Charge, p []ledger.Posting) error {
			got := [][2]string{}
			for _, one := range p {
				got = append(got, [2]string{one.From, one.To})
			}
			merchant := "merchant:" + b.merchant.ID
			require.Equal(t, [][2]string{
				{"wallet:" + payer, "rail:chainrail:clearing"}, {"rail:chainrail:clearing", merchant}, {merchant, merchant + ":fees_due"},
			}, got)
			return nil
		})
	}))
	list, err := b.Charges(ctx, b.merchant.ID, "", 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	stats, err := b.Stats(ctx, b.merchant.ID, b.clock.Now())
	require.NoError(t, err)
	require.Equal(t, ledger.Stats{Volume: 50 * cent, Count: 1}, stats)
	found, err := b.ChargesOfTransaction(ctx, "0x1", 10)
	require.NoError(t, err)
	require.Len(t, found, 1)

	_, err = b.Settle(ctx, c, ledger.Settlement{Rail: rail.Chain, Reversed: true, Outcome: rail.Outcome{Status: rail.Refused, Reason: rail.Reverted, TxHash: "0x1"}})
	require.ErrorIs(t, err, ledger.ErrConflictingOutcome)
	_, err = b.Settle(ctx, c, transferred("0x2"))
	require.ErrorIs(t, err, ledger.ErrConflictingOutcome)
	stranger := b.transfer("to a stranger", 7)
	stranger.Payee = ledger.WalletPayee("0xAbc")
	paid := b.settle(t, b.begin(t, stranger), transferred("0x3"))
	require.Equal(t, []any{"wallet:0xabc", ledger.Micros(0)}, []any{paid.MerchantID, paid.Fee})
	b.sound(t)

	events, err := b.StreamEvents(ctx, b.merchant.ID, 0, 10)
	require.NoError(t, err)
	require.Equal(t, []webhook.Type{webhook.PaymentSucceeded, webhook.PaymentReversed}, []webhook.Type{events[0].Type, events[1].Type})
	var data webhook.Payment
	require.NoError(t, json.Unmarshal([]byte(events[0].Data), &data))
	require.Equal(t, []any{"", "x402", payer}, []any{data.MandateID, data.Source, data.Payer})
	b.percentOfTransfers(t)
}

// percentOfTransfers: anybody can pay a merchant's wallet, so the fee has no minimum: the
// merchant never owes more than a percentage of what it was paid.
func (b *bench) percentOfTransfers(t *testing.T) {
	for amount, fee := range map[ledger.Micros]ledger.Micros{
		1: 0, 33: 0, 34: 1, 1_000: 30, 166_667: 5_000, 999_999: 29_999, 1_000_000: 30_000, 5_000_000: 30_000,
	} {
		key := fmt.Sprint("of ", amount)
		c := b.settle(t, b.begin(t, b.transfer(key, amount)), transferred("0x"+key))
		require.Equal(t, fee, c.Fee, "%d micros", amount)
	}
	b.sound(t)
}

// failedTransfers: a transfer that failed before its rail had it may be begun again, as
// another charge.
func failedTransfers(t *testing.T, b *bench) {
	ctx := t.Context()
	first := b.begin(t, b.transfer("k", cent))
	b.clock.set(b.clock.Now().Add(21 * time.Second))
	require.Equal(t, first.ID, b.begin(t, b.transfer("k", cent)).ID)
	require.Empty(t, b.lapsed(t), "the second request has extended the lease")
	b.clock.set(b.clock.Now().Add(21 * time.Second))
	require.Len(t, b.lapsed(t), 1)
	leased, taken, err := b.Lease(ctx, first, b.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.True(t, taken)
	_, err = b.BeginTransfer(ctx, b.transfer("k", cent))
	require.ErrorIs(t, err, ledger.ErrIdempotencyInProgress, "recovery asks the rail")
	require.Equal(t, ledger.ChargeFailed, b.settle(t, leased, revertedOnChain()).Status)
	b.sound(t)
	for range 3 {
		again := b.begin(t, b.transfer("k", cent))
		require.NotEqual(t, first.ID, again.ID)
		b.settle(t, again, revertedOnChain())
	}
	last := b.begin(t, b.transfer("k", cent))
	require.Equal(t, last.ID, b.begin(t, b.transfer("k", cent)).ID)
	b.settle(t, last, transferred("0x1"))
	stats, err := b.Stats(ctx, b.merchant.ID, b.clock.Now())
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.Count)
	require.Equal(t, 5, b.sound(t).Charges)
}

// refundedTransfer: what is given back of a signed transfer is posted to its wallet.
func refundedTransfer(t *testing.T, b *bench) {
	ctx := t.Context()
	c := b.settle(t, b.begin(t, b.transfer("k", 50*cent)), transferred("0x1"))
	part, _, err := b.Refund(ctx, b.refundOf(c, 20*cent, "part"))
	require.NoError(t, err)
	_, err = b.SettleRefund(ctx, part, rail.Outcome{Status: rail.Succeeded, TxHash: "0x2"})
	require.NoError(t, err)
	failed, _, err := b.Refund(ctx, b.refundOf(c, 0, "rest"))
	require.NoError(t, err)
	_, err = b.SettleRefund(ctx, failed, rail.Outcome{Status: rail.Refused})
	require.NoError(t, err)
	b.sound(t)
	stats, err := b.Stats(ctx, b.merchant.ID, b.clock.Now())
	require.NoError(t, err)
	require.Equal(t, ledger.Stats{Volume: 50 * cent, Count: 1, Refunded: 20 * cent}, stats)
}

// concurrentTransfers: one transfer begins one charge, and transfers of one wallet do not
// lose each other's totals.
func concurrentTransfers(t *testing.T, b *bench) {
	var all sync.WaitGroup
	var mu sync.Mutex
	ids := map[string]map[string]bool{}
	for n := range 64 {
		all.Go(func() {
			key := fmt.Sprint(n % 8)
			c, err := b.BeginTransfer(context.Background(), b.transfer(key, cent))
			if err == nil {
				_, err = b.Settle(context.Background(), c, transferred("0x"+key))
			}
			if err != nil {
				require.ErrorIs(t, err, ledger.ErrTransferEnded)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if ids[key] == nil {
				ids[key] = map[string]bool{}
			}
			ids[key][c.ID] = true
		})
	}
	all.Wait()
	require.Len(t, ids, 8)
	for key, of := range ids {
		require.Len(t, of, 1, key)
	}
	stats, err := b.Stats(t.Context(), b.merchant.ID, b.clock.Now())
	require.NoError(t, err)
	require.Equal(t, ledger.Stats{Volume: 8 * cent, Count: 8}, stats)
	b.sound(t)
}

// transfersAgainstAModel: random transfers, outcomes and refunds add up, beside charges of
// a mandate to the same merchant.
func transfersAgainstAModel(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 100_000*cent))
	var volume, refunded ledger.Micros
	var count int64
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		for n := range rapid.IntRange(1, 12).Draw(t, "transfers") {
			amount := ledger.Micros(rapid.Int64Range(1, int64(100*cent)).Draw(t, "amount"))
			var c ledger.Charge
			if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
				c = b.reserve(t, m, min(amount, cent))
			} else {
				c = b.begin(t, b.transfer(fmt.Sprint(round, "/", n), amount))
			}
			switch rapid.SampledFrom([]string{"pending", "failed", "succeeded", "refunded"}).Draw(t, "end") {
			case "failed":
				b.settle(t, c, revertedOnChain())
			case "refunded":
				c = b.settle(t, c, transferred(fmt.Sprint(round, n)))
				part := ledger.Micros(rapid.Int64Range(1, int64(c.Amount)).Draw(t, "part"))
				r, _, err := b.Refund(context.Background(), b.refundOf(c, part, id.NewCapability("key_")))
				require.NoError(t, err)
				_, err = b.SettleRefund(context.Background(), r, gaveBack)
				require.NoError(t, err)
				volume, count, refunded = volume+c.Amount, count+1, refunded+part
			case "succeeded":
				b.settle(t, c, transferred(fmt.Sprint(round, n)))
				volume, count = volume+c.Amount, count+1
			}
		}
		stats, err := b.Stats(context.Background(), b.merchant.ID, b.clock.Now())
		require.NoError(t, err)
		require.Equal(t, ledger.Stats{Volume: volume, Refunded: refunded, Count: count, ActiveMandates: 1}, stats)
		b.sound(t)
	})
}
