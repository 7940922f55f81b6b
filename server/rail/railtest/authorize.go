package railtest

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
)

// RunAuthorizer runs the suite of [rail.Authorizer]. It calls open for each test, which must
// return a new rail that implements it.
func RunAuthorizer(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	run(t, open, map[string]func(*testing.T, *bench){
		"AuthorizeHoldsAndMovesNothing":         authorizeHolds,
		"FiftyCallersHoldTheAmountOnce":         fiftyHolders,
		"AuthorizeChangedIsAnError":             authorizeChanged,
		"AuthorizeRefusedStaysRefused":          authorizeRefused,
		"AuthorizeWorthlessAmountsHoldNone":     authorizeWorthless,
		"AuthorizeCancelledIsNoRefusal":         authorizeCancelled,
		"ChargedReferenceIsNotAuthorized":       chargedOrAuthorized,
		"CaptureMovesAPartAndReleasesTheRest":   capturePart,
		"CaptureMovesTheWhole":                  captureWhole,
		"CaptureOfMoreThanIsHeldChangesNothing": captureTooMuch,
		"CaptureUnknownIsRefusedForGood":        captureUnknown,
		"CaptureRefusedReleases":                captureRefused,
		"CaptureCancelledIsNoRefusal":           captureCancelled,
		"VoidReleases":                          voidReleases,
		"VoidUnknownIsForGood":                  voidUnknown,
		"ManyCapturesAndVoidsDecideOnce":        capturesAndVoids,
		"RestartForgetsNoHold":                  restartHolds,
		"RestartAmidCapturesDoublesNothing":     restartAmidCaptures,
	})
}

// authorizer returns the rail as the interface that the suite tests.
func (b *bench) authorizer(t *testing.T) rail.Authorizer {
	t.Helper()
	require.NotNil(t, b.Held, "Fixture.Held")
	require.Implements(t, (*rail.Authorizer)(nil), b.Rail)
	return b.Rail.(rail.Authorizer) //nolint:forcetypeassert // checked above
}

// authorize authorizes and waits until the outcome is not pending.
func (b *bench) authorize(t *testing.T, c rail.Charge) rail.Outcome {
	t.Helper()
	outcome, err := b.authorizer(t).Authorize(t.Context(), c)
	require.NoError(t, err)
	return b.end(t, c.Reference, outcome)
}

// hold authorizes a new reference, which must succeed.
func (b *bench) hold(t *testing.T, method string) rail.Charge {
	t.Helper()
	c := b.charge(b.connect(t, method))
	requireHeld(t, b.authorize(t, c))
	return c
}

// capture captures an amount and waits for the final outcome.
func (b *bench) capture(t *testing.T, c rail.Charge, amount rail.Micros) rail.Outcome {
	t.Helper()
	c.Amount = amount
	outcome, err := b.authorizer(t).Capture(t.Context(), c)
	require.NoError(t, err)
	return b.end(t, c.Reference, outcome)
}

// void voids a reference.
func (b *bench) void(t *testing.T, reference string) rail.Outcome {
	t.Helper()
	outcome, err := b.authorizer(t).Void(t.Context(), reference)
	require.NoError(t, err)
	return outcome
}

// requireMoney checks what has moved and what is held.
func (b *bench) requireMoney(t *testing.T, moved, held rail.Micros) {
	t.Helper()
	require.Equal(t, moved, b.Moved(t), "moved")
	require.Equal(t, held, b.Held(t), "held")
}

func requireHeld(t *testing.T, outcome rail.Outcome) {
	t.Helper()
	require.Equal(t, rail.Held, outcome.Status, "reason %q", outcome.Reason)
	require.Empty(t, outcome.Reason)
	require.Zero(t, outcome.SettledAt)
}

// authorizeHolds: the amount is held until somebody captures or voids it, however often the
// reference is authorized again or looked up.
func authorizeHolds(t *testing.T, b *bench) {
	c := b.hold(t, b.Works)
	for range 3 {
		requireHeld(t, b.authorize(t, c))
		found, err := b.Rail.Lookup(t.Context(), c.Reference)
		require.NoError(t, err)
		requireHeld(t, found)
	}
	b.requireMoney(t, 0, b.Amount)
}

// fiftyHolders: fifty concurrent authorizations with one reference hold the amount once.
func fiftyHolders(t *testing.T, b *bench) {
	c := b.charge(b.connect(t, b.Works))
	a := b.authorizer(t)
	errs := make([]error, 50)
	together(len(errs), func(i int) { _, errs[i] = a.Authorize(t.Context(), c) })
	for _, err := range errs {
		require.NoError(t, err)
	}
	requireHeld(t, b.authorize(t, c))
	b.requireMoney(t, 0, b.Amount)
}

// authorizeChanged: a used reference never holds another amount.
func authorizeChanged(t *testing.T, b *bench) {
	c, other := b.hold(t, b.Works), b.connect(t, b.Works)
	for name, change := range map[string]func(*rail.Charge){
		"amount": func(c *rail.Charge) { c.Amount *= 2 },
		"payer":  func(c *rail.Charge) { c.Instrument = other },
		"payee":  func(c *rail.Charge) { c.MerchantID = "mer_other" },
	} {
		changed := c
		change(&changed)
		outcome, err := b.authorizer(t).Authorize(t.Context(), changed)
		requireUnknown(t, outcome, err)
		require.ErrorIs(t, err, rail.ErrReferenceReused, name)
	}
	b.requireMoney(t, 0, b.Amount)
}

// authorizeRefused: a refused authorization holds nothing, and no capture moves money.
func authorizeRefused(t *testing.T, b *bench) {
	if b.RefusedAtCharge == "" {
		t.Skip("the rail connects no method that it refuses to charge")
	}
	c := b.charge(b.connect(t, b.RefusedAtCharge))
	for range 2 {
		refused := b.authorize(t, c)
		require.Equal(t, rail.Refused, refused.Status)
		require.Equal(t, b.ChargeReason, refused.Reason)
		require.Equal(t, refused, b.capture(t, c, c.Amount))
		require.Equal(t, refused, b.void(t, c.Reference))
	}
	b.requireMoney(t, 0, 0)
}

// authorizeWorthless: no authorization of zero or less holds anything.
func authorizeWorthless(t *testing.T, b *bench) {
	instrument := b.connect(t, b.Works)
	for _, amount := range []rail.Micros{0, -1, -b.Amount} {
		c := b.charge(instrument)
		c.Amount = amount
		if outcome, err := b.authorizer(t).Authorize(t.Context(), c); err == nil {
			require.Equal(t, rail.Refused, outcome.Status, "amount %d", amount)
			require.NotEmpty(t, outcome.Reason)
		}
	}
	b.requireMoney(t, 0, 0)
}

// authorizeCancelled: a canceled caller gets no definite result, and may repeat the call.
func authorizeCancelled(t *testing.T, b *bench) {
	c := b.charge(b.connect(t, b.Works))
	outcome, err := b.authorizer(t).Authorize(cancelled(t), c)
	requireUnknown(t, outcome, err)
	requireHeld(t, b.authorize(t, c))
	outcome, err = b.authorizer(t).Void(cancelled(t), c.Reference)
	requireUnknown(t, outcome, err)
	require.Equal(t, rail.Refused, b.void(t, c.Reference).Status)
	b.requireMoney(t, 0, 0)
}

// chargedOrAuthorized: a charge does not capture what is held, and what was charged is
// neither authorized nor captured again.
func chargedOrAuthorized(t *testing.T, b *bench) {
	held := b.hold(t, b.Works)
	outcome, err := b.Rail.Charge(t.Context(), held)
	requireUnknown(t, outcome, err)
	require.ErrorIs(t, err, rail.ErrReferenceReused)
	b.requireMoney(t, 0, b.Amount)
	charged := b.charge(held.Instrument)
	requireSucceeded(t, b.pay(t, charged))
	for _, call := range []func(rail.Authorizer) (rail.Outcome, error){
		func(a rail.Authorizer) (rail.Outcome, error) { return a.Authorize(t.Context(), charged) },
		func(a rail.Authorizer) (rail.Outcome, error) { return a.Capture(t.Context(), charged) },
	} {
		outcome, err = call(b.authorizer(t))
		requireUnknown(t, outcome, err)
		require.ErrorIs(t, err, rail.ErrReferenceReused)
	}
	b.requireMoney(t, b.Amount, b.Amount)
}

// authorizeTogether authorizes n references, which must succeed.
func (b *bench) authorizeTogether(t *testing.T, n int) []rail.Charge {
	t.Helper()
	instrument := b.connect(t, b.Works)
	charges := make([]rail.Charge, n)
	for i := range charges {
		charges[i] = b.charge(instrument)
		requireHeld(t, b.authorize(t, charges[i]))
	}
	return charges
}

// capturesAndVoids: of concurrent captures of several amounts and voids one decides, and all
// callers agree on it.
func capturesAndVoids(t *testing.T, b *bench) {
	a, quarter := b.authorizer(t), b.Amount/4
	var moved rail.Micros
	for _, c := range b.authorizeTogether(t, 8) {
		outcomes, errs := make([]rail.Outcome, 12), make([]error, 12)
		together(len(errs), func(i int) {
			if i%3 == 2 {
				outcomes[i], errs[i] = a.Void(t.Context(), c.Reference)
				return
			}
			part := c
			part.Amount = quarter * rail.Micros(1+i%3)
			outcomes[i], errs[i] = a.Capture(t.Context(), part)
		})
		final, err := b.Rail.Lookup(t.Context(), c.Reference)
		require.NoError(t, err)
		final = b.end(t, c.Reference, final)
		captured := rail.Micros(0)
		for i := range errs {
			if errs[i] != nil {
				require.ErrorIs(t, errs[i], rail.ErrReferenceReused)
				require.Equal(t, rail.Succeeded, final.Status, "another amount was captured")
				continue
			}
			require.Equal(t, final, b.end(t, c.Reference, outcomes[i]))
			if i%3 != 2 && final.Status == rail.Succeeded {
				captured = quarter * rail.Micros(1+i%3)
			}
		}
		moved += captured
		require.Equal(t, moved, b.Moved(t))
	}
	b.requireMoney(t, moved, 0)
}

// restartHolds: the next process knows what is held.
func restartHolds(t *testing.T, b *bench) {
	c := b.hold(t, b.Works)
	b.restart(t)
	found, err := b.Rail.Lookup(t.Context(), c.Reference)
	require.NoError(t, err)
	requireHeld(t, found)
	b.requireMoney(t, 0, b.Amount)
	first := b.capture(t, c, b.Amount/2)
	requireSucceeded(t, first)
	b.restart(t)
	require.Equal(t, first, b.capture(t, c, b.Amount/2))
	b.requireMoney(t, b.Amount/2, 0)
}

// restartAmidCaptures: the rail ends during captures. Repeating them captures each once.
func restartAmidCaptures(t *testing.T, b *bench) {
	charges := b.authorizeTogether(t, 20)
	dying, part := b.authorizer(t), b.Amount/4
	started := make(chan struct{}, len(charges))
	outcomes, errs := make([]rail.Outcome, len(charges)), make([]error, len(charges))
	var ended sync.WaitGroup
	ended.Go(func() {
		together(len(charges), func(i int) {
			started <- struct{}{}
			c := charges[i]
			c.Amount = part
			outcomes[i], errs[i] = dying.Capture(t.Context(), c)
		})
	})
	<-started
	b.restart(t)
	ended.Wait()
	for i, c := range charges {
		again := b.capture(t, c, part)
		requireSucceeded(t, again)
		if errs[i] == nil {
			require.Equal(t, b.end(t, c.Reference, outcomes[i]), again)
		} else {
			requireUnknown(t, outcomes[i], errs[i])
		}
	}
	b.requireMoney(t, part*rail.Micros(len(charges)), 0)
}
