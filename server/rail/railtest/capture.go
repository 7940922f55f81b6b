package railtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
)

// capturePart: a part moves once, the rest is given back, and every later call returns the
// outcome of the first capture.
func capturePart(t *testing.T, b *bench) {
	c := b.hold(t, b.Works)
	part := b.Amount / 4
	first := b.capture(t, c, part)
	requireSucceeded(t, first)
	b.requireMoney(t, part, 0)
	for _, amount := range []rail.Micros{part * 2, part * 3, b.Amount} {
		changed := c
		changed.Amount = amount
		outcome, err := b.authorizer(t).Capture(t.Context(), changed)
		requireUnknown(t, outcome, err)
		require.ErrorIs(t, err, rail.ErrReferenceReused)
	}
	found, err := b.Rail.Lookup(t.Context(), c.Reference)
	require.NoError(t, err)
	require.Equal(t, first, found)
	require.Equal(t, first, b.capture(t, c, part))
	require.Equal(t, first, b.authorize(t, c))
	require.Equal(t, first, b.void(t, c.Reference))
	b.requireMoney(t, part, 0)
}

// captureWhole: all that is held can be captured.
func captureWhole(t *testing.T, b *bench) {
	c := b.hold(t, b.Works)
	requireSucceeded(t, b.capture(t, c, b.Amount))
	b.requireMoney(t, b.Amount, 0)
}

// captureTooMuch: an impossible amount is an error, and leaves the amount held.
func captureTooMuch(t *testing.T, b *bench) {
	c := b.hold(t, b.Works)
	for _, amount := range []rail.Micros{b.Amount * 2, 0, -b.Amount} {
		changed := c
		changed.Amount = amount
		outcome, err := b.authorizer(t).Capture(t.Context(), changed)
		requireUnknown(t, outcome, err)
		require.ErrorIs(t, err, rail.ErrInvalidAmount, "amount %d", amount)
		b.requireMoney(t, 0, b.Amount)
	}
	requireSucceeded(t, b.capture(t, c, b.Amount/2))
	b.requireMoney(t, b.Amount/2, 0)
}

// captureUnknown: the refusal of a reference that was never authorized is final.
func captureUnknown(t *testing.T, b *bench) {
	c := b.charge(b.connect(t, b.Works))
	require.Equal(t, rail.Refused, b.capture(t, c, c.Amount).Status)
	require.Equal(t, rail.Refused, b.authorize(t, c).Status)
	require.Equal(t, rail.Refused, b.capture(t, c, c.Amount).Status)
	b.requireMoney(t, 0, 0)
}

// captureRefused: after a refused capture nothing is held, and no later call moves money.
func captureRefused(t *testing.T, b *bench) {
	if b.RefusedAtCapture == "" {
		t.Skip("the rail authorizes no method that it refuses to capture")
	}
	c := b.hold(t, b.RefusedAtCapture)
	refused := b.capture(t, c, b.Amount/2)
	require.Equal(t, rail.Refused, refused.Status)
	require.Equal(t, b.CaptureReason, refused.Reason)
	b.requireMoney(t, 0, 0)
	require.Equal(t, refused, b.capture(t, c, b.Amount))
	require.Equal(t, refused, b.authorize(t, c))
	require.Equal(t, refused, b.void(t, c.Reference))
	b.requireMoney(t, 0, 0)
}

// captureCancelled: a canceled caller gets no definite result, and may repeat the call.
func captureCancelled(t *testing.T, b *bench) {
	c := b.hold(t, b.Works)
	outcome, err := b.authorizer(t).Capture(cancelled(t), c)
	requireUnknown(t, outcome, err)
	requireSucceeded(t, b.capture(t, c, c.Amount))
	b.requireMoney(t, b.Amount, 0)
}

// voidReleases: after a void nothing is held, and no later call moves money.
func voidReleases(t *testing.T, b *bench) {
	c := b.hold(t, b.Works)
	voided := b.void(t, c.Reference)
	require.Equal(t, rail.Refused, voided.Status)
	require.NotEmpty(t, voided.Reason)
	b.requireMoney(t, 0, 0)
	b.restart(t)
	require.Equal(t, voided, b.void(t, c.Reference))
	require.Equal(t, voided, b.authorize(t, c))
	require.Equal(t, voided, b.capture(t, c, b.Amount))
	b.requireMoney(t, 0, 0)
}

// voidUnknown: an authorization or a charge that arrives after the void is refused.
func voidUnknown(t *testing.T, b *bench) {
	instrument := b.connect(t, b.Works)
	for _, call := range []func(*testing.T, rail.Charge) rail.Outcome{b.authorize, b.pay} {
		c := b.charge(instrument)
		voided := b.void(t, c.Reference)
		require.Equal(t, rail.Refused, voided.Status)
		require.Equal(t, voided, call(t, c))
	}
	b.requireMoney(t, 0, 0)
}
