package ledgertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// atomicFive walks through the rules in their order: each request breaks one
// rule and all the later ones.
func atomicFive(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(500*cent, 1000*cent))

	r := b.request(m, 501*cent)
	r.Payee.Active, r.Payee.MaxCharge = false, 100*cent
	b.refused(t, r, ledger.MerchantInactive)
	r.Payee.Active = true
	require.Equal(t, 100*cent, b.refused(t, r, ledger.MerchantLimit).Limit)
	for own, want := range map[ledger.Micros]ledger.Micros{50 * cent: 50 * cent, 200 * cent: 100 * cent} {
		r.Payee.OwnMaxCharge = own
		require.Equal(t, want, b.refused(t, r, ledger.MerchantLimit).Limit, "the lower limit counts")
	}
	r.Payee.MaxCharge, r.Payee.OwnMaxCharge = 0, 200*cent
	require.Equal(t, 200*cent, b.refused(t, r, ledger.MerchantLimit).Limit)

	other := b.merchant
	other.ID = id.New(id.Merchant, b.clock.Now())
	worst := func() ledger.Reserve {
		r := b.request(m, 5000*cent)
		r.Payee = other
		return r
	}
	forged := worst()
	forged.TokenValid = false
	b.refused(t, forged, ledger.MandateInvalid)
	unknown := worst()
	unknown.MandateID = id.New(id.Mandate, b.clock.Now())
	b.refused(t, unknown, ledger.MandateInvalid)

	b.refused(t, worst(), ledger.MerchantNotAllowed)
	anybody := b.terms(500*cent, 1000*cent)
	anybody.Payees = []string{ledger.AnyPayee}
	unnamed := b.request(b.mandate(t, anybody), cent)
	unnamed.Named = true
	b.refused(t, unnamed, ledger.MerchantNotAllowed)
	b.refused(t, b.request(m, 5000*cent), ledger.PerTxLimit)

	now := b.clock.Now()
	b.clock.set(m.Terms.ExpiresAt.Add(-time.Millisecond))
	b.reserve(t, m, cent)
	b.clock.set(m.Terms.ExpiresAt)
	b.refused(t, worst(), ledger.MandateExpired)
	b.clock.set(now)

	_, err := b.Revoke(ctx, m.ID, ledger.RevokedByMerchant)
	require.NoError(t, err)
	b.clock.set(m.Terms.ExpiresAt)
	b.refused(t, worst(), ledger.MandateIsRevoked)
	require.Zero(t, b.sound(t).Succeeded)
}

func limitsToTheMicro(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 150*cent))
	require.Equal(t, 100*cent, b.refused(t, b.request(m, 100*cent+1), ledger.PerTxLimit).Limit)
	b.reserve(t, m, 100*cent)
	refusal := b.refused(t, b.request(m, 50*cent+1), ledger.MonthlyLimit)
	require.Equal(t, 150*cent, refusal.Limit)
	require.Equal(t, 50*cent, refusal.Remaining)
	b.reserve(t, m, 50*cent)
	require.Zero(t, b.refused(t, b.request(m, 1), ledger.MonthlyLimit).Remaining)
	require.Equal(t, 150*cent, b.spent(t, m))
	b.sound(t)
}

func monthRollover(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 100*cent))
	b.clock.set(time.Date(2026, 11, 30, 23, 59, 59, 999e6, time.UTC))
	b.settle(t, b.reserve(t, m, 100*cent), succeeded())
	b.refused(t, b.request(m, 1), ledger.MonthlyLimit)
	b.clock.set(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC))
	require.Zero(t, b.spent(t, m))
	b.reserve(t, m, 60*cent)
	require.Equal(t, 60*cent, b.spent(t, m))
	b.refused(t, b.request(m, 41*cent), ledger.MonthlyLimit)
	b.sound(t)
}

// clockBackwards: a clock that goes back over midnight must not give a month twice.
func clockBackwards(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 100*cent))
	b.clock.set(time.Date(2026, 12, 1, 0, 0, 1, 0, time.UTC))
	b.reserve(t, m, 100*cent)
	b.clock.set(time.Date(2026, 11, 30, 23, 59, 59, 0, time.UTC))
	b.refused(t, b.request(m, 1), ledger.MonthlyLimit)
	b.clock.set(time.Date(2026, 12, 1, 0, 0, 2, 0, time.UTC))
	b.refused(t, b.request(m, 1), ledger.MonthlyLimit)
	b.sound(t)
}

func captureAndRelease(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	held := b.reserve(t, m, 100*cent)
	require.Equal(t, ledger.ChargePending, held.Status)

	done := b.settle(t, held, succeeded())
	require.Equal(t, ledger.ChargeSucceeded, done.Status)
	require.Equal(t, "pay_1", done.ProcessorID)
	require.Zero(t, done.Fee)
	require.False(t, done.SettledAt.IsZero())
	require.Equal(t, done, b.settle(t, held, succeeded()), "a repeat changes nothing")
	stored, err := b.Charge(ctx, held.ID)
	require.NoError(t, err)
	require.Equal(t, done, stored)

	failed := b.settle(t, b.reserve(t, m, 70*cent), declined())
	require.Equal(t, ledger.ChargeFailed, failed.Status)
	require.Equal(t, rail.CardDeclined, failed.FailureReason)
	require.Equal(t, 100*cent, b.spent(t, m))
	require.Equal(t, failed, b.settle(t, failed, declined()))

	chain := succeeded()
	chain.Rail, chain.Outcome.TxHash = rail.Chain, "0xabc"
	paid := b.settle(t, b.reserve(t, m, 10*cent), chain)
	require.Equal(t, cent/2, paid.Fee)
	require.Equal(t, "0xabc", paid.TxHash)

	r := b.sound(t)
	require.Equal(t, []int{2, 1, 5}, []int{r.Succeeded, r.Failed, r.Postings})
	_, err = b.Settle(ctx, ledger.Charge{ID: "txn_none", MandateID: m.ID}, succeeded())
	require.ErrorIs(t, err, ledger.ErrNotFound)
}

// lateRelease: what October held is not given back to November.
func lateRelease(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 100*cent))
	old := b.reserve(t, m, 100*cent)
	b.clock.set(b.clock.Now().AddDate(0, 1, 0))
	b.reserve(t, m, 30*cent)
	b.settle(t, old, declined())
	require.Equal(t, 30*cent, b.spent(t, m))
	b.sound(t)
}

func leases(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	c := b.reserve(t, m, cent)
	until := b.clock.Now().Add(time.Minute)

	_, taken, err := b.Lease(ctx, c, until)
	require.NoError(t, err)
	require.False(t, taken, "the request that reserved it still holds it")
	require.Empty(t, b.lapsed(t))

	b.clock.set(c.LeaseUntil.Add(time.Second))
	require.Len(t, b.lapsed(t), 1)
	leased, taken, err := b.Lease(ctx, c, until)
	require.NoError(t, err)
	require.True(t, taken)
	require.Equal(t, 1, leased.Asked)
	_, taken, err = b.Lease(ctx, c, until)
	require.NoError(t, err)
	require.False(t, taken)
	_, taken, err = b.PutOff(ctx, c, b.clock.Now())
	require.NoError(t, err)
	require.False(t, taken, "who has lost a lease does not shorten that of another")
	off, taken, err := b.PutOff(ctx, leased, until.Add(time.Hour))
	require.NoError(t, err)
	require.True(t, taken)
	require.Equal(t, 2, off.Asked)
	again, taken, err := b.PutOff(ctx, leased, until.Add(time.Hour))
	require.NoError(t, err)
	require.True(t, taken, "the same command again, after its answer was lost")
	require.Equal(t, off, again)
	require.Empty(t, b.lapsed(t))

	hurried, err := b.Hurry(ctx, c)
	require.NoError(t, err)
	require.Equal(t, []ledger.Charge{hurried}, b.lapsed(t), "it was put off, and is due")
	leased, taken, err = b.Lease(ctx, hurried, until.Add(time.Hour))
	require.NoError(t, err)
	require.True(t, taken)
	same, err := b.Hurry(ctx, c)
	require.NoError(t, err)
	require.Equal(t, leased, same, "a rail is being asked")
	require.Empty(t, b.lapsed(t))
	_, err = b.Hurry(ctx, ledger.Charge{ID: "txn_none", MandateID: m.ID})
	require.ErrorIs(t, err, ledger.ErrNotFound)

	settled := b.settle(t, c, succeeded())
	same, err = b.Hurry(ctx, c)
	require.NoError(t, err)
	require.Equal(t, settled, same)
	b.clock.set(until.Add(2 * time.Hour))
	_, taken, err = b.Lease(ctx, c, until)
	require.NoError(t, err)
	require.False(t, taken, "it is decided")
	require.Empty(t, b.lapsed(t))
}

func (b *bench) lapsed(t *testing.T, except ...rail.Name) []ledger.Charge {
	t.Helper()
	lapsed, err := b.Lapsed(t.Context(), b.clock.Now(), except, 10)
	require.NoError(t, err)
	return lapsed
}

// lapsedByRail: charges of a rail that is away do not hide those of another.
func lapsedByRail(t *testing.T, b *bench) {
	s := b.session(t, b.terms(100*cent, 1000*cent))
	m, err := b.CompleteSession(t.Context(), ledger.Completion{
		SessionHash: s.Hash, MandateID: "del_two", Terms: s.Terms, SealedToken: []byte("sealed"),
	})
	require.NoError(t, err)
	onCard := b.reserve(t, m, cent)
	request := b.request(m, cent)
	request.Rails = []rail.Name{rail.Chain, rail.Card}
	r, err := b.Reserve(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, rail.Chain, r.Charge.Waiting())
	b.clock.set(b.clock.Now().Add(time.Minute))
	require.Len(t, b.lapsed(t), 2)
	require.Equal(t, []ledger.Charge{onCard}, b.lapsed(t, rail.Chain))
	require.Equal(t, []ledger.Charge{r.Charge}, b.lapsed(t, rail.Card))
	require.Empty(t, b.lapsed(t, rail.Chain, rail.Card))
}

// leasesOfEarlierProcesses: an instance that starts takes over what an earlier process
// held only if the store is its own; never what it holds itself.
func leasesOfEarlierProcesses(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	held := b.reserve(t, m, cent)
	next := b.instances(t, 1)[0]
	own, err := next.Reserve(ctx, b.request(m, cent))
	require.NoError(t, err)
	require.NotEqual(t, held.LeaseOwner, own.Charge.LeaseOwner)
	require.NoError(t, next.FreeLeases(ctx))
	if b.another != nil {
		require.Empty(t, b.lapsed(t), "the other instance lives")
		return
	}
	free := b.lapsed(t)
	require.Len(t, free, 1)
	require.Equal(t, held.ID, free[0].ID)
	_, taken, err := next.Lease(ctx, free[0], b.clock.Now().Add(time.Minute))
	require.NoError(t, err)
	require.True(t, taken)
}

// leasesOfRefundsOfEarlierProcesses are taken over like those of charges: a repeat of the
// request after a crash is not refused until its lease expires.
func leasesOfRefundsOfEarlierProcesses(t *testing.T, b *bench) {
	ctx := t.Context()
	c := b.settle(t, b.reserve(t, b.mandate(t, b.terms(100*cent, 1000*cent)), 10*cent), succeeded())
	held, _, err := b.Refund(ctx, b.refundOf(c, cent, "held"))
	require.NoError(t, err)
	scheduled, _, err := b.Refund(ctx, b.refundOf(c, cent, "scheduled"))
	require.NoError(t, err)
	_, err = b.ScheduleRefund(ctx, scheduled, b.clock.Now().Add(time.Hour))
	require.NoError(t, err)
	next := b.instances(t, 1)[0]
	own, _, err := next.Refund(ctx, b.refundOf(c, cent, "own"))
	require.NoError(t, err)
	require.NoError(t, next.FreeLeases(ctx))
	lapsed, err := b.LapsedRefunds(ctx, b.clock.Now(), nil, 10)
	require.NoError(t, err)
	_, replayed, err := next.Refund(ctx, b.refundOf(c, cent, "held"))
	if b.another != nil {
		require.Empty(t, lapsed, "the other instance lives")
		require.ErrorIs(t, err, ledger.ErrIdempotencyInProgress)
		return
	}
	require.NoError(t, err)
	require.True(t, replayed)
	require.Len(t, lapsed, 1)
	require.Equal(t, held.ID, lapsed[0].ID)
	_, _, err = next.Refund(ctx, b.refundOf(c, cent, "own"))
	require.ErrorIs(t, err, ledger.ErrIdempotencyInProgress, "%s is held by this instance", own.ID)
}

func revocation(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	held := b.reserve(t, m, 10*cent)
	first, err := b.Revoke(ctx, m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	require.Equal(t, ledger.MandateRevoked, first.Status)
	b.clock.set(b.clock.Now().Add(time.Hour))
	again, err := b.Revoke(ctx, m.ID, ledger.RevokedByMerchant)
	require.NoError(t, err)
	require.Equal(t, first, again, "revoking again changes nothing and emits no event")
	b.refused(t, b.request(m, cent), ledger.MandateIsRevoked)
	require.Equal(t, ledger.ChargeSucceeded, b.settle(t, held, succeeded()).Status, "what was reserved before still ends")
	b.sound(t)
	_, err = b.Revoke(ctx, "del_none", ledger.RevokedByUser)
	require.ErrorIs(t, err, ledger.ErrNotFound)
}
