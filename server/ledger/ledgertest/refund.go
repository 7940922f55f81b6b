package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

func (b *bench) refundOf(c ledger.Charge, amount ledger.Micros, key string) ledger.RefundRequest {
	return ledger.RefundRequest{
		Charge: c, MerchantID: c.MerchantID, Amount: amount, Reason: "broken", IdempotencyKey: key, Fingerprint: "f", Lease: time.Minute,
	}
}

var gaveBack = rail.Outcome{Status: rail.Succeeded, ProcessorID: "re_1"}

// used returns what each window of a mandate holds, sums of money in cents.
func (b *bench) used(t require.TestingT, m ledger.Mandate) (all []int64) {
	stored, err := b.Mandate(context.Background(), m.ID)
	require.NoError(t, err)
	for _, w := range stored.Windows {
		if !w.Counts() {
			w.Used /= int64(cent)
		}
		all = append(all, w.Used)
	}
	return all
}

// onlyRefundable: a refund names a charge of the caller that succeeded, and no more than is
// left of it.
func onlyRefundable(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.limited())
	pending := b.reserve(t, m, 10*cent)
	_, _, err := b.Refund(ctx, b.refundOf(pending, cent, "early"))
	require.ErrorIs(t, err, ledger.ErrNotRefundable)
	b.settle(t, pending, declined())
	c := b.settle(t, b.reserve(t, m, 50*cent), succeeded())
	stranger := b.refundOf(c, cent, "k")
	stranger.MerchantID = "mer_other"
	_, _, err = b.Refund(ctx, stranger)
	require.ErrorIs(t, err, ledger.ErrNotFound)
	for _, amount := range []ledger.Micros{-1, 50*cent + 1} {
		_, _, err = b.Refund(ctx, b.refundOf(c, amount, "k"))
		require.ErrorIs(t, err, ledger.ErrAboveCharge)
	}
	require.Equal(t, []int64{50, 50, 50, 1}, b.used(t, m))
	b.sound(t)
}

// repeatedRefunds: an idempotency key gives back once, whatever the rail's answer.
func repeatedRefunds(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.limited())
	c := b.settle(t, b.reserve(t, m, 50*cent), succeeded())
	part, replayed, err := b.Refund(ctx, b.refundOf(c, 20*cent, "k"))
	require.NoError(t, err)
	require.False(t, replayed)
	require.Equal(t, []int64{50, 50, 50, 1}, b.used(t, m), "it has not moved yet")
	_, _, err = b.Refund(ctx, b.refundOf(c, 20*cent, "k"))
	require.ErrorIs(t, err, ledger.ErrIdempotencyInProgress)
	_, _, err = b.Refund(ctx, b.refundOf(c, 31*cent, "more"))
	require.ErrorIs(t, err, ledger.ErrAboveCharge)
	b.sound(t)
	for range 2 {
		part, err = b.SettleRefund(ctx, part, gaveBack)
		require.NoError(t, err)
		require.Equal(t, ledger.RefundSucceeded, part.Status)
	}
	require.Equal(t, []int64{30, 30, 30, 1}, b.used(t, m))
	again, replayed, err := b.Refund(ctx, b.refundOf(c, 20*cent, "k"))
	require.NoError(t, err)
	require.True(t, replayed)
	require.Equal(t, part, again)
	other := b.refundOf(c, 20*cent, "k")
	other.Fingerprint = "g"
	_, _, err = b.Refund(ctx, other)
	require.ErrorIs(t, err, ledger.ErrIdempotencyMismatch)
	_, err = b.SettleRefund(ctx, part, rail.Outcome{Status: rail.Refused})
	require.ErrorIs(t, err, ledger.ErrConflictingOutcome)
	b.sound(t)
}

// refunds: what is given back returns to the windows in which the charge counts, and shows in
// the statistics and statements; what the rail refuses returns nowhere.
func refunds(t *testing.T, b *bench) {
	ctx := t.Context()
	b.clock.set(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))
	m := b.mandate(t, b.limited())
	c := b.settle(t, b.reserve(t, m, 50*cent), succeeded())
	refund := func(amount ledger.Micros, key string, o rail.Outcome) ledger.Refund {
		t.Helper()
		r, _, err := b.Refund(ctx, b.refundOf(c, amount, key))
		require.NoError(t, err)
		r, err = b.SettleRefund(ctx, r, o)
		require.NoError(t, err)
		return r
	}
	refund(20*cent, "part", gaveBack)
	failed := refund(0, "rest", rail.Outcome{Status: rail.Refused})
	require.Equal(t, []any{30 * cent, ledger.RefundFailed, rail.ProcessorError}, []any{failed.Amount, failed.Status, failed.FailureReason})
	require.Equal(t, []int64{30, 30, 30, 1}, b.used(t, m))

	b.clock.set(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	b.settle(t, b.reserve(t, m, cent), succeeded())
	rest := refund(0, "rest again", gaveBack)
	require.Equal(t, []int64{1, 1, 1, 1}, b.used(t, m), "the charge's day is over, its month is not")
	_, _, err := b.Refund(ctx, b.refundOf(c, 0, "nothing left"))
	require.ErrorIs(t, err, ledger.ErrAboveCharge)

	all, err := b.RefundsOf(ctx, c.ID, 0, ledger.MaxRefunds)
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, rest.ID, all[2].ID)
	stats, err := b.Stats(ctx, b.merchant.ID, b.clock.Now())
	require.NoError(t, err)
	require.Equal(t, []ledger.Micros{51 * cent, 50 * cent}, []ledger.Micros{stats.Volume, stats.Refunded})
	lines, err := ledger.FeeStatement(ctx, b.store, ledger.MonthOf(c.SettledAt), b.merchant.ID)
	require.NoError(t, err)
	require.Len(t, lines, 1)
	require.Equal(t, 51*cent, lines[0].Gross)
	volume, err := b.MandateVolume(ctx, m.ID)
	require.NoError(t, err)
	require.Equal(t, cent, volume)
	require.Equal(t, []webhook.Type{
		webhook.MandateCreated, webhook.PaymentSucceeded, webhook.PaymentRefunded, webhook.PaymentRefundFailed, webhook.PaymentSucceeded, webhook.PaymentRefunded,
	}, typesOf(b.eventsOf(t, m)))
	b.sound(t)
}

// refundsOnTheChain: the contract counts a month's payments and no refunds, so the month of a
// mandate does not free what the contract would refuse. The other limits do.
func refundsOnTheChain(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.limited())
	var charges []ledger.Charge
	for _, end := range []ledger.Settlement{transferred("0x1"), succeeded()} {
		charges = append(charges, b.settle(t, b.reserve(t, m, 50*cent), end))
	}
	require.Equal(t, []int64{100, 100, 100, 2}, b.used(t, m))
	for i, want := range [][]int64{{80, 100, 80, 2}, {60, 80, 60, 2}} {
		r, _, err := b.Refund(ctx, b.refundOf(charges[i], 20*cent, fmt.Sprint(i)))
		require.NoError(t, err)
		b.sound(t)
		_, err = b.SettleRefund(ctx, r, gaveBack)
		require.NoError(t, err)
		require.Equal(t, want, b.used(t, m), "daily, monthly, total, payments")
		b.sound(t)
	}
}

// scheduledRefunds: a refund that was scheduled is asked for then, although it was leased.
func scheduledRefunds(t *testing.T, b *bench) {
	ctx := t.Context()
	c := b.settle(t, b.reserve(t, b.mandate(t, b.limited()), 50*cent), succeeded())
	begun, _, err := b.Refund(ctx, b.refundOf(c, 0, "k"))
	require.NoError(t, err)
	next := b.clock.Now().Add(time.Second)
	for range 2 {
		scheduled, err := b.ScheduleRefund(ctx, begun, next)
		require.NoError(t, err)
		require.Equal(t, []any{"", 1, ledger.RefundPending}, []any{scheduled.LeaseOwner, scheduled.Asked, scheduled.Status})
	}
	again, replayed, err := b.Refund(ctx, b.refundOf(c, 0, "k"))
	require.NoError(t, err)
	require.True(t, replayed, "its lease has ended")
	require.Equal(t, ledger.RefundPending, again.Status)
	b.clock.set(next.Add(time.Second))
	_, taken, err := b.LeaseRefund(ctx, again, b.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.True(t, taken)
	done, err := b.SettleRefund(ctx, again, gaveBack)
	require.NoError(t, err)
	kept, err := b.ScheduleRefund(ctx, again, next)
	require.NoError(t, err)
	require.Equal(t, done, kept)
	found, err := b.FindRefund(ctx, begun.ID)
	require.NoError(t, err)
	require.Equal(t, done, found)
	_, err = b.FindRefund(ctx, "rfd_none")
	require.ErrorIs(t, err, ledger.ErrNotFound)
	_, err = b.ScheduleRefund(ctx, ledger.Refund{ID: "rfd_none", MandateID: c.MandateID}, next)
	require.ErrorIs(t, err, ledger.ErrNotFound)
	b.sound(t)
}

// lapsedRefunds: a refund whose lease has run out is leased to one caller.
func lapsedRefunds(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.limited())
	c := b.settle(t, b.reserve(t, m, 50*cent), succeeded())
	_, _, err := b.Refund(ctx, b.refundOf(c, 0, "k"))
	require.NoError(t, err)
	lapsed, err := b.LapsedRefunds(ctx, b.clock.Now(), nil, 10)
	require.NoError(t, err)
	require.Empty(t, lapsed)
	b.clock.set(b.clock.Now().Add(time.Minute))
	lapsed, err = b.LapsedRefunds(ctx, b.clock.Now(), nil, 10)
	require.NoError(t, err)
	require.Len(t, lapsed, 1)
	leased, taken, err := b.LeaseRefund(ctx, lapsed[0], b.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.True(t, taken)
	_, taken, err = b.LeaseRefund(ctx, lapsed[0], b.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.False(t, taken)
	_, err = b.SettleRefund(ctx, leased, gaveBack)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 0, 0, 1}, b.used(t, m))
	b.sound(t)
}

// lapsedRefundsWithoutARail: what one rail leaves pending does not hide the refunds of another.
func lapsedRefundsWithoutARail(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	began := map[rail.Name]ledger.Refund{}
	for _, one := range []struct {
		rail rail.Name
		n    int
	}{{rail.Chain, 3}, {rail.Card, 1}} {
		paid := succeeded()
		paid.Rail = one.rail
		c := b.settle(t, b.reserve(t, m, 50*cent), paid)
		for i := range one.n {
			r, _, err := b.Refund(ctx, b.refundOf(c, cent, fmt.Sprint(one.rail, i)))
			require.NoError(t, err)
			began[one.rail] = r
		}
		b.clock.set(b.clock.Now().Add(time.Second)) // the card's is the youngest
	}
	b.clock.set(b.clock.Now().Add(time.Hour))
	for _, tc := range []struct {
		without []rail.Name
		want    []rail.Name
	}{
		{nil, []rail.Name{rail.Chain, rail.Chain}},
		{[]rail.Name{rail.Chain}, []rail.Name{rail.Card}},
		{[]rail.Name{rail.Card}, []rail.Name{rail.Chain, rail.Chain}},
		{[]rail.Name{rail.Card, rail.Chain}, nil},
	} {
		lapsed, err := b.LapsedRefunds(ctx, b.clock.Now(), tc.without, 2)
		require.NoError(t, err)
		var got []rail.Name
		for _, r := range lapsed {
			got = append(got, r.Rail)
		}
		require.Equal(t, tc.want, got, "without %v", tc.without)
	}
	got, err := b.RefundOf(ctx, began[rail.Card].ChargeID, began[rail.Card].ID)
	require.NoError(t, err)
	require.Equal(t, began[rail.Card], got)
	_, err = b.RefundOf(ctx, began[rail.Chain].ChargeID, began[rail.Card].ID)
	require.ErrorIs(t, err, ledger.ErrNotFound, "of another charge")
}

// refundsHaveALimit: and are listed in pages. Refunds that failed count; a repeat does not.
func refundsHaveALimit(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(1000*cent, 1000*cent))
	c := b.settle(t, b.reserve(t, m, 1000*cent), succeeded())
	for i := range ledger.MaxRefunds {
		r, _, err := b.Refund(ctx, b.refundOf(c, cent, fmt.Sprint(i)))
		require.NoError(t, err)
		if i%2 == 0 {
			_, err = b.SettleRefund(ctx, r, rail.Outcome{Status: rail.Refused, Reason: rail.ProcessorError})
			require.NoError(t, err)
		}
	}
	_, _, err := b.Refund(ctx, b.refundOf(c, cent, "one more"))
	require.ErrorIs(t, err, ledger.ErrTooManyRefunds)
	_, replayed, err := b.Refund(ctx, b.refundOf(c, cent, "0"))
	require.NoError(t, err)
	require.True(t, replayed)
	var numbers []int
	for after := 0; ; after = numbers[len(numbers)-1] {
		page, err := b.RefundsOf(ctx, c.ID, after, 30)
		require.NoError(t, err)
		for _, r := range page {
			numbers = append(numbers, r.N)
		}
		if len(page) < 30 {
			break
		}
	}
	require.Len(t, numbers, ledger.MaxRefunds)
	require.Equal(t, []int{1, ledger.MaxRefunds}, []int{numbers[0], numbers[len(numbers)-1]})
	b.sound(t)
}

// concurrentRefunds never give back more than was charged.
func concurrentRefunds(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	c := b.settle(t, b.reserve(t, m, 100*cent), succeeded())
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		back ledger.Micros
	)
	for n := range 40 {
		all.Go(func() {
			r, _, err := b.Refund(t.Context(), b.refundOf(c, 7*cent, fmt.Sprint(n)))
			if errors.Is(err, ledger.ErrAboveCharge) {
				return
			}
			if err == nil {
				r, err = b.SettleRefund(t.Context(), r, gaveBack)
			}
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			back += r.Amount
		})
	}
	all.Wait()
	require.Equal(t, 98*cent, back)
	require.Equal(t, 2*cent, b.spent(t, m))
	b.sound(t)
}
