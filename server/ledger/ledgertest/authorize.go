package ledgertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// held authorizes an amount on a rail for an hour.
func (b *bench) held(t require.TestingT, m ledger.Mandate, amount ledger.Micros, on rail.Name) ledger.Charge {
	r := b.request(m, amount)
	r.Hold, r.Kind = time.Hour, ledger.AuthorizeKey
	reserved, err := b.Reserve(context.Background(), r)
	require.NoError(t, err)
	c, err := b.Settle(context.Background(), reserved.Charge, heldOn(on))
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeAuthorized, c.Status)
	return c
}

func heldOn(name rail.Name) ledger.Settlement {
	return ledger.Settlement{Rail: name, Step: ledger.StepAuthorize, Outcome: rail.Outcome{Status: rail.Held, ProcessorID: "pay_1"}}
}

func captureOf(c ledger.Charge, amount ledger.Micros) ledger.Capture {
	return ledger.Capture{
		ChargeID: c.ID, MandateID: c.MandateID, MerchantID: c.MerchantID, Amount: amount,
		IdempotencyKey: "capture " + c.ID, Fingerprint: "f", RequestID: "req_1", Lease: time.Minute,
	}
}

// capturesAreNoOldBacklog: a capture is not as old as its authorization.
func capturesAreNoOldBacklog(t *testing.T, b *bench) {
	c := b.held(t, b.mandate(t, b.limited()), 50*cent, rail.Card)
	b.clock.set(b.clock.Now().Add(30 * time.Minute))
	capturing := captureOf(c, 20*cent)
	_, err := b.Capture(t.Context(), capturing)
	require.NoError(t, err)
	pending, since, err := b.store.Backlog(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, pending)
	require.WithinDuration(t, b.clock.Now().Add(capturing.Lease), since, time.Millisecond)
}

// refusedCaptures: a capture names an authorization of the caller, and an amount of whole cents
// within it.
func refusedCaptures(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.limited())
	c := b.held(t, m, 50*cent, rail.Card)
	stranger := captureOf(c, cent)
	stranger.MerchantID = "mer_other"
	_, err := b.Capture(ctx, stranger)
	require.ErrorIs(t, err, ledger.ErrNotFound)
	_, err = b.Capture(ctx, captureOf(c, 50*cent+1))
	require.ErrorIs(t, err, ledger.ErrAboveHold)
	_, err = b.Capture(ctx, captureOf(c, -1))
	require.ErrorIs(t, err, ledger.ErrAboveHold)
	_, err = b.Capture(ctx, captureOf(c, cent+1))
	require.ErrorIs(t, err, ledger.ErrNoWholeCents)
	for _, bad := range []string{"a\x00", "a\xff", "a\n"} {
		broken := captureOf(c, cent)
		broken.IdempotencyKey = bad
		_, err = b.Capture(ctx, broken)
		require.ErrorIs(t, err, ledger.ErrText)
	}
	_, err = b.Void(ctx, ledger.Charge{ID: c.ID, MandateID: c.MandateID, MerchantID: "mer_other"})
	require.ErrorIs(t, err, ledger.ErrNotFound)
	require.Equal(t, []int64{50, 50, 50, 1}, b.used(t, m))
}

// captures: what is captured is charged once, and the rest given back.
func captures(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.limited())
	c := b.held(t, m, 50*cent, rail.Card)
	heldByCard := func() ledger.Micros {
		sum, err := b.MandateHeld(ctx, m.ID, rail.Card)
		require.NoError(t, err)
		return sum
	}
	require.Equal(t, 50*cent, heldByCard())
	r := captureOf(c, 20*cent)
	r.Usage = &ledger.Usage{Unit: "token", Quantity: 200, UnitPrice: cent / 10}
	got, err := b.Capture(ctx, r)
	require.NoError(t, err)
	require.Equal(t, []int64{20, 20, 20, 1}, b.used(t, m))
	require.Equal(t, 20*cent, heldByCard())
	_, err = b.Capture(ctx, r)
	require.ErrorIs(t, err, ledger.ErrIdempotencyInProgress)
	settled := b.settle(t, got.Charge, succeeded())
	require.Zero(t, heldByCard())
	require.Equal(t, 20*cent, settled.Amount)
	require.Equal(t, 50*cent, settled.Authorized)
	require.Equal(t, r.Usage, settled.Usage)
	again, err := b.Capture(ctx, r)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	other := r
	other.Fingerprint = "g"
	_, err = b.Capture(ctx, other)
	require.ErrorIs(t, err, ledger.ErrIdempotencyMismatch)
	other.IdempotencyKey = "another"
	_, err = b.Capture(ctx, other)
	require.ErrorIs(t, err, ledger.ErrNotAuthorized)
	_, err = b.Void(ctx, c)
	require.ErrorIs(t, err, ledger.ErrNotAuthorized)
	require.Equal(t, 1, b.sound(t).Succeeded)
	require.Equal(t, []webhook.Type{webhook.MandateCreated, webhook.PaymentAuthorized, webhook.PaymentSucceeded}, typesOf(b.eventsOf(t, m)))
}

// voids: what is voided or expires is given back.
func voids(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.limited())
	c := b.held(t, m, 30*cent, rail.Card)
	for range 2 {
		voided, err := b.Void(ctx, c)
		require.NoError(t, err)
		require.Equal(t, ledger.ChargeVoided, voided.Status)
	}
	require.Equal(t, []int64{0, 0, 0, 0}, b.used(t, m))
	due, err := b.Unwinds(ctx, time.Minute, 10)
	require.NoError(t, err)
	require.Contains(t, kindsOf(due), ledger.UnwindHold)

	c = b.held(t, m, 30*cent, rail.Chain)
	none, err := b.ExpiredHolds(ctx, b.clock.Now(), 10)
	require.NoError(t, err)
	require.Empty(t, none)
	b.clock.set(c.AuthorizedUntil)
	expired, err := b.ExpiredHolds(ctx, b.clock.Now(), 10)
	require.NoError(t, err)
	require.Len(t, expired, 1)
	late, err := b.Capture(ctx, captureOf(c, cent))
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeVoided, late.Charge.Status)
	require.Equal(t, []int64{0, 0, 0, 0}, b.used(t, m))
	require.Equal(t, 2, b.sound(t).Voided)
	require.Equal(t, []webhook.Type{
		webhook.MandateCreated, webhook.PaymentAuthorized, webhook.PaymentVoided, webhook.PaymentAuthorized, webhook.PaymentVoided,
	}, typesOf(b.eventsOf(t, m)))
}

// undecidedHolds: a card that was asked to hold an amount, and of which nothing is known when
// the charge fails on no rail, is asked to void it.
func undecidedHolds(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	r := b.request(m, 10*cent)
	r.Hold, r.Kind = time.Hour, ledger.AuthorizeKey
	reserved, err := b.Reserve(ctx, r)
	require.NoError(t, err)
	c := b.settle(t, reserved.Charge, ledger.Settlement{Step: ledger.StepAuthorize, Outcome: rail.Outcome{Status: rail.Refused, Reason: rail.Unavailable}})
	require.Equal(t, ledger.ChargeFailed, c.Status)
	due, err := b.Unwinds(ctx, time.Minute, 10)
	require.NoError(t, err)
	require.Contains(t, kindsOf(due), ledger.UnwindHold)
	b.sound(t)
}

func kindsOf(all []ledger.Unwinding) (kinds []ledger.UnwindingKind) {
	for _, u := range all {
		kinds = append(kinds, u.Kind)
	}
	return kinds
}

// holdsAfterTheEnd: once the mandate has ended, a hold of the ledger alone moves no money;
// what a card's processor holds can still be captured.
func holdsAfterTheEnd(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	card, chain := b.held(t, m, 10*cent, rail.Card), b.held(t, m, 20*cent, rail.Chain)
	_, err := b.Revoke(ctx, m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	for range 2 {
		var refusal *ledger.Refusal
		_, err = b.Capture(ctx, captureOf(chain, cent))
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, ledger.MandateIsRevoked, refusal.Code)
	}
	c, err := b.Charge(ctx, chain.ID)
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeVoided, c.Status)
	got, err := b.Capture(ctx, captureOf(card, 7*cent))
	require.NoError(t, err)
	b.settle(t, got.Charge, succeeded())
	require.Equal(t, 7*cent, b.spent(t, m))
	b.sound(t)
}

// concurrentHolds: charges, captures and voids race at the limit; each window is exact, and
// each hold ends once.
func concurrentHolds(t *testing.T, b *bench) {
	const callers = 100
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 500*cent))
	var (
		all             sync.WaitGroup
		mu              sync.Mutex
		spent           ledger.Micros
		captured, ended int
	)
	for n := range callers {
		all.Go(func() {
			r := b.request(m, 10*cent)
			if n%4 != 0 {
				r.Hold, r.Kind = time.Hour, ledger.AuthorizeKey
			}
			reserved, err := b.Reserve(ctx, r)
			if err != nil {
				var refusal *ledger.Refusal
				if !errors.As(err, &refusal) {
					t.Error(err)
				}
				return
			}
			if r.Hold == 0 {
				b.settle(t, reserved.Charge, succeeded())
				mu.Lock()
				defer mu.Unlock()
				spent += 10 * cent
				return
			}
			c, err := b.Settle(ctx, reserved.Charge, heldOn(rail.Card))
			if err != nil {
				t.Error(err)
				return
			}
			endTwice(t, b, c, ledger.Micros(n%9+1)*cent, func(settled ledger.Charge) {
				mu.Lock()
				defer mu.Unlock()
				if ended++; settled.Status == ledger.ChargeSucceeded {
					captured++
					spent += settled.Amount
				}
			})
		})
	}
	all.Wait()
	require.Equal(t, spent, b.spent(t, m))
	report := b.sound(t)
	require.Equal(t, spent, report.Volume)
	require.Zero(t, report.Authorized)
	require.NotZero(t, captured)
	require.Equal(t, ended, captured+report.Voided, "each hold ends once")
}

// endTwice voids and twice captures a hold, all at once. It calls ended for each of them
// that ended the hold.
func endTwice(t *testing.T, b *bench, held ledger.Charge, amount ledger.Micros, ended func(ledger.Charge)) {
	t.Helper()
	var ends sync.WaitGroup
	ends.Go(func() {
		if c, err := b.Void(t.Context(), held); err == nil {
			ended(c)
		} else if !errors.Is(err, ledger.ErrNotAuthorized) {
			t.Error(err)
		}
	})
	for _, key := range []string{"1", "2"} {
		ends.Go(func() {
			capture := captureOf(held, amount)
			capture.IdempotencyKey += key
			got, err := b.Capture(t.Context(), capture)
			switch {
			case err == nil && got.Charge.Status == ledger.ChargePending:
				ended(b.settle(t, got.Charge, succeeded()))
			case err == nil:
				ended(got.Charge)
			case !errors.Is(err, ledger.ErrNotAuthorized) && !errors.Is(err, ledger.ErrIdempotencyInProgress):
				t.Error(err)
			}
		})
	}
	ends.Wait()
}

// lateAnswers: what a rail answers about a step that is over changes nothing, and holds
// nothing.
func lateAnswers(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	refused := declined()
	refused.Step = ledger.StepAuthorize
	settle := func(c ledger.Charge, end ledger.Settlement) ledger.Charge {
		t.Helper()
		got, err := b.Settle(ctx, c, end)
		require.NoError(t, err)
		return got
	}
	c := b.held(t, m, 10*cent, rail.Card)
	require.Equal(t, ledger.ChargeAuthorized, settle(c, heldOn(rail.Card)).Status)
	require.Equal(t, ledger.ChargeAuthorized, settle(c, refused).Status)
	got, err := b.Capture(ctx, captureOf(c, 7*cent))
	require.NoError(t, err)
	for _, late := range []ledger.Settlement{heldOn(rail.Card), refused} {
		require.Equal(t, ledger.ChargePending, settle(got.Charge, late).Status)
	}
	b.settle(t, got.Charge, succeeded())
	for _, late := range []ledger.Settlement{heldOn(rail.Card), refused} {
		require.Equal(t, ledger.ChargeSucceeded, settle(got.Charge, late).Status)
	}
	conflicts, err := b.OutcomeConflicts(ctx, ledger.OutcomeConflict{}, 10)
	require.NoError(t, err)
	require.Empty(t, conflicts)

	r := b.request(m, 10*cent)
	r.Hold, r.Kind = time.Hour, ledger.AuthorizeKey
	reserved, err := b.Reserve(ctx, r)
	require.NoError(t, err)
	failed := b.settle(t, reserved.Charge, declined())
	due, err := b.Unwinds(ctx, time.Minute, 10)
	require.NoError(t, err)
	for _, u := range due {
		require.NoError(t, b.Unwound(ctx, u, time.Time{}))
	}
	require.Equal(t, ledger.ChargeFailed, settle(failed, heldOn(rail.Card)).Status)
	due, err = b.Unwinds(ctx, time.Minute, 10)
	require.NoError(t, err)
	require.Equal(t, []ledger.UnwindingKind{ledger.UnwindHold}, kindsOf(due), "what is held too late is voided")
	require.Equal(t, 7*cent, b.spent(t, m))
	b.sound(t)
}

// holdsAreBounded: a hold ends in time, and is none below zero.
func holdsAreBounded(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	for _, hold := range []time.Duration{-1, ledger.MaxHold + 1} {
		r := b.request(m, cent)
		r.Hold = hold
		_, err := b.Reserve(t.Context(), r)
		require.ErrorIs(t, err, ledger.ErrInvariant)
	}
	require.Zero(t, b.spent(t, m))
}

// holdsOnTheChainEndWithTheMonth: the contract counts a capture in the month in which it moves.
// A hold of the card alone may last longer.
func holdsOnTheChainEndWithTheMonth(t *testing.T, b *bench) {
	s := b.session(t, b.terms(100*cent, 1000*cent))
	m, err := b.CompleteSession(t.Context(), ledger.Completion{
		SessionHash: s.Hash, MandateID: id.New(id.Mandate, b.clock.Now()), Terms: s.Terms, SealedToken: []byte("sealed"),
		Instruments: []string{b.connected(t, s, rail.Card, "pm_1"), b.connected(t, s, rail.Chain, "0x1")}, Email: "ada@example.com",
	})
	require.NoError(t, err)
	end := ledger.MonthOf(b.clock.Now()).Next().Start()
	b.clock.set(end.Add(-time.Minute))
	for on, want := range map[rail.Name]time.Time{rail.Chain: end, rail.Card: end.Add(time.Hour - time.Minute)} {
		r := b.request(m, 10*cent)
		r.Hold, r.Kind, r.Rails = time.Hour, ledger.AuthorizeKey, []rail.Name{on}
		reserved, err := b.Reserve(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, want, reserved.Charge.AuthorizedUntil)
	}
	c := b.held(t, m, 10*cent, rail.Chain)
	b.clock.set(end)
	late, err := b.Capture(t.Context(), captureOf(c, cent))
	require.NoError(t, err)
	require.Equal(t, ledger.ChargeVoided, late.Charge.Status)
	b.sound(t)
}
