package railtest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
)

// RunRefunder runs the suite of [rail.Refunder]. It calls open for each test, which must
// return a new rail that implements it.
func RunRefunder(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	run(t, open, map[string]func(*testing.T, *bench){
		"RefundsOncePerReference":            refundsOnce,
		"RefundsOfPartsNeverExceedTheCharge": refundParts,
		"ManyRefundsNeverExceedTheCharge":    manyRefunds,
		"RefundNeverExceedsWhatWasCaptured":  refundCaptured,
		"RefundChangedIsAnError":             refundChanged,
		"RefundOfNoChargeIsRefused":          refundOfNothing,
		"RefundRefusedStaysRefused":          refundRefused,
		"RefundWorthlessAmountsMoveNone":     refundWorthless,
		"RefundReferencesAreTheirOwn":        refundReferences,
		"RefundCancelledIsNoRefusal":         refundCancelled,
		"LookupRefundUnseen":                 lookupRefundUnseen,
		"RestartAmidRefundsDoublesNothing":   restartAmidRefunds,
		"ChargeIsTheSameAfterItWasRefunded":  chargeAfterRefund,
		"RefundedOfOneChargeSparesTheOthers": refundSparesOthers,
		"FiftyCallersRefundOnce":             fiftyRefunders,
	})
}

// refunder returns the rail as the interface that the suite tests.
func (b *bench) refunder(t *testing.T) rail.Refunder {
	t.Helper()
	require.Implements(t, (*rail.Refunder)(nil), b.Rail)
	return b.Rail.(rail.Refunder) //nolint:forcetypeassert // checked above
}

// paid charges a new reference, which must succeed.
func (b *bench) paid(t *testing.T, method string) rail.Charge {
	t.Helper()
	c := b.charge(b.connect(t, method))
	requireSucceeded(t, b.pay(t, c))
	return c
}

// refundOf returns a refund of a charge with a new reference.
func (b *bench) refundOf(c rail.Charge, amount rail.Micros) rail.Refund {
	return rail.Refund{Reference: b.reference(), Charge: c.Reference, Amount: amount, Description: "railtest"}
}

// refund refunds and waits for the final outcome.
func (b *bench) refund(t *testing.T, r rail.Refund) rail.Outcome {
	t.Helper()
	outcome, err := b.refunder(t).Refund(t.Context(), r)
	require.NoError(t, err)
	return b.endRefund(t, r.Reference, outcome)
}

// endRefund waits until a pending refund ends.
func (b *bench) endRefund(t *testing.T, reference string, outcome rail.Outcome) rail.Outcome {
	t.Helper()
	for range patience {
		if outcome.Status != rail.Pending {
			return outcome
		}
		if b.Advance != nil {
			b.Advance(t)
		}
		var err error
		outcome, err = b.refunder(t).LookupRefund(t.Context(), reference)
		require.NoError(t, err)
	}
	require.NotEqual(t, rail.Pending, outcome.Status, "refund %s never ends", reference)
	return outcome
}

func requireRefused(t *testing.T, outcome rail.Outcome) {
	t.Helper()
	require.Equal(t, rail.Refused, outcome.Status)
	require.NotEmpty(t, outcome.Reason)
}

// refundsOnce: a repeated refund returns the outcome of the first, also in the next process.
func refundsOnce(t *testing.T, b *bench) {
	r := b.refundOf(b.paid(t, b.Works), b.Amount/4)
	first := b.refund(t, r)
	requireSucceeded(t, first)
	for range 2 {
		require.Equal(t, first, b.refund(t, r))
		found, err := b.refunder(t).LookupRefund(t.Context(), r.Reference)
		require.NoError(t, err)
		require.Equal(t, first, found)
		b.restart(t)
	}
	require.Equal(t, b.Amount/4*3, b.Moved(t))
}

// refundParts: several refunds give back all of a charge, and not more.
func refundParts(t *testing.T, b *bench) {
	c := b.paid(t, b.Works)
	for range 3 {
		requireSucceeded(t, b.refund(t, b.refundOf(c, b.Amount/4)))
	}
	tooMuch := b.refundOf(c, b.Amount/2)
	requireRefused(t, b.refund(t, tooMuch))
	requireSucceeded(t, b.refund(t, b.refundOf(c, b.Amount/4)))
	requireRefused(t, b.refund(t, b.refundOf(c, b.Amount/4)))
	requireRefused(t, b.refund(t, tooMuch))
	require.Zero(t, b.Moved(t))
}

// manyRefunds: concurrent refunds together give back the charge, and not more.
func manyRefunds(t *testing.T, b *bench) {
	c, rf := b.paid(t, b.Works), b.refunder(t)
	refunds := make([]rail.Refund, 20)
	for i := range refunds {
		refunds[i] = b.refundOf(c, b.Amount/4)
	}
	outcomes, errs := make([]rail.Outcome, len(refunds)), make([]error, len(refunds))
	together(len(refunds), func(i int) { outcomes[i], errs[i] = rf.Refund(t.Context(), refunds[i]) })
	succeeded := 0
	for i, r := range refunds {
		require.NoError(t, errs[i])
		if outcome := b.endRefund(t, r.Reference, outcomes[i]); outcome.Status == rail.Succeeded {
			succeeded++
		} else {
			requireRefused(t, outcome)
		}
	}
	require.Equal(t, 4, succeeded)
	require.Zero(t, b.Moved(t))
}

// refundCaptured: what was held and not captured is not refunded.
func refundCaptured(t *testing.T, b *bench) {
	if _, ok := b.Rail.(rail.Authorizer); !ok {
		t.Skip("the rail holds nothing")
	}
	c := b.hold(t, b.Works)
	requireRefused(t, b.refund(t, b.refundOf(c, b.Amount/4)))
	requireSucceeded(t, b.capture(t, c, b.Amount/4))
	requireRefused(t, b.refund(t, b.refundOf(c, b.Amount/2)))
	requireSucceeded(t, b.refund(t, b.refundOf(c, b.Amount/4)))
	requireRefused(t, b.refund(t, b.refundOf(c, b.Amount/4)))
	require.Zero(t, b.Moved(t))
}

// refundChanged: a used reference never gives other money back.
func refundChanged(t *testing.T, b *bench) {
	c, other := b.paid(t, b.Works), b.paid(t, b.Works)
	r := b.refundOf(c, b.Amount/4)
	first := b.refund(t, r)
	for name, change := range map[string]func(*rail.Refund){
		"amount": func(r *rail.Refund) { r.Amount *= 2 },
		"charge": func(r *rail.Refund) { r.Charge = other.Reference },
	} {
		changed := r
		change(&changed)
		outcome, err := b.refunder(t).Refund(t.Context(), changed)
		requireUnknown(t, outcome, err)
		require.ErrorIs(t, err, rail.ErrReferenceReused, name)
	}
	require.Equal(t, first, b.refund(t, r))
	require.Equal(t, 2*b.Amount-b.Amount/4, b.Moved(t))
}

// refundOfNothing: a refund of a charge that has not succeeded stays refused, even if the
// charge succeeds later.
func refundOfNothing(t *testing.T, b *bench) {
	c := b.charge(b.connect(t, b.Works))
	r := b.refundOf(c, b.Amount/4)
	requireRefused(t, b.refund(t, r))
	requireSucceeded(t, b.pay(t, c))
	requireRefused(t, b.refund(t, r))
	if b.RefusedAtCharge != "" {
		refused := b.charge(b.connect(t, b.RefusedAtCharge))
		require.Equal(t, rail.Refused, b.pay(t, refused).Status)
		requireRefused(t, b.refund(t, b.refundOf(refused, b.Amount/4)))
	}
	require.Equal(t, b.Amount, b.Moved(t))
}

// refundRefused: a refusal has its reason, and leaves the charge as it is.
func refundRefused(t *testing.T, b *bench) {
	if b.RefusedAtRefund == "" {
		t.Skip("the rail charges no method that it refuses to refund")
	}
	r := b.refundOf(b.paid(t, b.RefusedAtRefund), b.Amount/4)
	for range 2 {
		outcome := b.refund(t, r)
		requireRefused(t, outcome)
		require.Equal(t, b.RefundReason, outcome.Reason)
		b.restart(t)
	}
	require.Equal(t, b.Amount, b.Moved(t))
}

// refundWorthless: no refund of zero or less succeeds.
func refundWorthless(t *testing.T, b *bench) {
	c := b.paid(t, b.Works)
	for _, amount := range []rail.Micros{0, -1, -b.Amount} {
		if outcome, err := b.refunder(t).Refund(t.Context(), b.refundOf(c, amount)); err == nil {
			requireRefused(t, outcome)
		}
	}
	require.Equal(t, b.Amount, b.Moved(t))
}

// refundReferences: a refund may have the reference of a charge.
func refundReferences(t *testing.T, b *bench) {
	c := b.paid(t, b.Works)
	requireSucceeded(t, b.refund(t, rail.Refund{Reference: c.Reference, Charge: c.Reference, Amount: b.Amount}))
	require.Zero(t, b.Moved(t))
}

// refundCancelled: a canceled caller gets no definite result, and may repeat the call.
func refundCancelled(t *testing.T, b *bench) {
	r := b.refundOf(b.paid(t, b.Works), b.Amount)
	outcome, err := b.refunder(t).Refund(cancelled(t), r)
	requireUnknown(t, outcome, err)
	outcome, err = b.refunder(t).LookupRefund(cancelled(t), r.Reference)
	requireUnknown(t, outcome, err)
	requireSucceeded(t, b.refund(t, r))
	require.Zero(t, b.Moved(t))
}

// lookupRefundUnseen: LookupRefund does not use a reference up.
func lookupRefundUnseen(t *testing.T, b *bench) {
	r := b.refundOf(b.paid(t, b.Works), b.Amount)
	for range 2 {
		outcome, err := b.refunder(t).LookupRefund(t.Context(), r.Reference)
		require.NoError(t, err)
		require.Equal(t, rail.Outcome{Status: rail.Unseen}, outcome)
	}
	requireSucceeded(t, b.refund(t, r))
}

// chargeAfterRefund: a refund does not change the outcome of its charge.
func chargeAfterRefund(t *testing.T, b *bench) {
	c := b.charge(b.connect(t, b.Works))
	first := b.pay(t, c)
	requireSucceeded(t, b.refund(t, b.refundOf(c, b.Amount)))
	require.Equal(t, first, b.pay(t, c))
	found, err := b.Rail.Lookup(t.Context(), c.Reference)
	require.NoError(t, err)
	require.Equal(t, first, found)
	require.Zero(t, b.Moved(t))
}

// refundSparesOthers: a charge is refunded from its own money only.
func refundSparesOthers(t *testing.T, b *bench) {
	c := b.paid(t, b.Works)
	b.paid(t, b.Works)
	requireSucceeded(t, b.refund(t, b.refundOf(c, b.Amount)))
	requireRefused(t, b.refund(t, b.refundOf(c, b.Amount/4)))
	require.Equal(t, b.Amount, b.Moved(t))
}

// fiftyRefunders: fifty concurrent refunds with one reference move the money back once.
func fiftyRefunders(t *testing.T, b *bench) {
	r, rf := b.refundOf(b.paid(t, b.Works), b.Amount/4), b.refunder(t)
	outcomes, errs := make([]rail.Outcome, 50), make([]error, 50)
	together(len(errs), func(i int) { outcomes[i], errs[i] = rf.Refund(t.Context(), r) })
	last := b.refund(t, r)
	requireSucceeded(t, last)
	for i := range errs {
		require.NoError(t, errs[i])
		require.Equal(t, last, b.endRefund(t, r.Reference, outcomes[i]))
	}
	require.Equal(t, b.Amount/4*3, b.Moved(t))
}

// restartAmidRefunds: the rail ends during refunds. Repeating them refunds each once.
func restartAmidRefunds(t *testing.T, b *bench) {
	c := b.paid(t, b.Works)
	refunds := make([]rail.Refund, 4)
	for i := range refunds {
		refunds[i] = b.refundOf(c, b.Amount/4)
	}
	dying := b.refunder(t)
	started := make(chan struct{}, len(refunds))
	outcomes, errs := make([]rail.Outcome, len(refunds)), make([]error, len(refunds))
	var ended sync.WaitGroup
	ended.Go(func() {
		together(len(refunds), func(i int) {
			started <- struct{}{}
			outcomes[i], errs[i] = dying.Refund(t.Context(), refunds[i])
		})
	})
	<-started
	b.restart(t)
	ended.Wait()
	for i, r := range refunds {
		again := b.refund(t, r)
		requireSucceeded(t, again)
		if errs[i] == nil {
			require.Equal(t, b.endRefund(t, r.Reference, outcomes[i]), again)
		} else {
			requireUnknown(t, outcomes[i], errs[i])
		}
	}
	require.Zero(t, b.Moved(t))
}
