package payment_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// unprepared is a change before which nothing is prepared.
func unprepared(context.Context, string) error { return nil }

// paidBy returns the methods that were charged, in order.
func (s *puppet) paidBy() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.payers...)
}

// byCard charges a card.
func (b *bench) byCard(t *testing.T, s *payment.Service, token, key string) ledger.Charge {
	t.Helper()
	r := b.request(token, key)
	r.Currency, r.Amount = "usd", 500_000
	c, err := s.Charge(t.Context(), r)
	require.NoError(t, err)
	return c.Charge
}

// changed changes the card of a mandate.
func (b *bench) changed(t *testing.T, m ledger.Mandate) ledger.Mandate {
	t.Helper()
	m, err := b.ChangeCard(t.Context(), m, string(rail.Card), unprepared)
	require.NoError(t, err)
	return m
}

// cardOf returns the card that pays for a mandate.
func (b *bench) cardOf(t *testing.T, m ledger.Mandate) (current string) {
	t.Helper()
	m, err := b.Ledger.Mandate(t.Context(), m.ID)
	require.NoError(t, err)
	instruments, err := b.Instruments(t.Context(), m.ID, m.Card)
	require.NoError(t, err)
	for _, i := range instruments {
		if i.Rail == rail.Card {
			require.Empty(t, current, "one card pays")
			current = i.Method
		}
	}
	return current
}

// TestChargeKeepsTheCardThatItBeganWith: a charge whose outcome was unknown when the card
// changed asks the same card again; with the other one it could be paid twice.
func TestChargeKeepsTheCardThatItBeganWith(t *testing.T) {
	t.Parallel()
	b := both(t)
	m, token := b.confirmed(t)
	old := b.cardOf(t, m)
	b.card.answer(rail.Outcome{}, errNoAnswer)
	pending := b.byCard(t, b.Service, token, "pending")
	require.Equal(t, ledger.ChargePending, pending.Status)
	m = b.changed(t, m)
	fresh := b.cardOf(t, m)
	require.NotEqual(t, old, fresh)
	b.card.answer(rail.Outcome{Status: rail.Succeeded}, nil)
	require.Equal(t, ledger.ChargeSucceeded, b.byCard(t, b.Service, token, "new").Status)
	require.NoError(t, b.Start(t.Context()))
	require.Equal(t, ledger.ChargeSucceeded, b.finished(t, pending).Status)
	paid := b.card.paidBy()
	require.Equal(t, []string{old, fresh}, paid[:2])
	for _, method := range paid[2:] {
		require.Equal(t, old, method)
	}
	again, err := b.Instruments(t.Context(), m.ID, pending.Card)
	require.NoError(t, err)
	require.Contains(t, again, rail.Instrument{Rail: rail.Card, Customer: "0xpayer", Method: old})
	b.unwound(t, b.cards(t, m.ID), ledger.Disconnected, ledger.Connected)
	require.Equal(t, []string{old}, b.card.ended())
}

// cards lists the cards of a mandate, that of its confirmation first.
func (b *bench) cards(t *testing.T, mandateID string) func() []ledger.Instrument {
	t.Helper()
	return func() (cards []ledger.Instrument) {
		for _, i := range b.ofMandate(t, mandateID)() {
			if i.Rail == rail.Card && i.Pays("") {
				cards = append([]ledger.Instrument{i}, cards...)
			} else if i.Rail == rail.Card {
				cards = append(cards, i)
			}
		}
		return cards
	}
}

// TestOtherInstancesLearnTheCard: one that has charged the card before charges the new one.
func TestOtherInstancesLearnTheCard(t *testing.T) {
	t.Parallel()
	b := both(t)
	m, token := b.confirmed(t)
	other := payment.New(b.Config)
	t.Cleanup(other.Close)
	b.byCard(t, other, token, "one")
	old := b.cardOf(t, m)
	m = b.changed(t, m)
	b.byCard(t, other, token, "two")
	require.Equal(t, []string{old, b.cardOf(t, m)}, b.card.paidBy())
}

// TestChangeOfADeadProcess: a process that ends between two steps leaves the mandate with one
// card that pays, and no other card connected.
func TestChangeOfADeadProcess(t *testing.T) {
	t.Parallel()
	steps := []string{"begun", "connected by the rail", "recorded", "changed"}
	for died, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b := both(t)
			m, token := b.confirmed(t)
			old := b.cardOf(t, m)
			session := b.CardSession(m)
			c := rail.Connection{Reference: session.Hash[:32] + ".0." + string(rail.Card), Method: string(rail.Card), Session: session.Hash}
			begun, err := b.Ledger.BeginCard(t.Context(), m.ID, c)
			require.NoError(t, err)
			var card rail.Instrument
			if died > 0 {
				card, err = b.card.Connect(t.Context(), c)
				require.NoError(t, err)
			}
			if died > 1 {
				_, err = b.Ledger.ConnectedInstrument(t.Context(), begun.Reference, card)
				require.NoError(t, err)
			}
			ended, pays := "method of "+c.Reference, old
			if died > 2 {
				_, err = b.Ledger.ChangeCard(t.Context(), m.ID, begun.Reference)
				require.NoError(t, err)
				ended, pays = pays, ended
			}
			require.NoError(t, b.Start(t.Context()))
			require.Eventually(t, func() bool {
				b.time.Advance(time.Minute)
				backlog, err := b.Ledger.UnwindingBacklog(t.Context())
				require.NoError(t, err)
				return len(b.card.ended()) == 1 && backlog.Count == 0
			}, time.Minute, 500*time.Millisecond)
			require.Equal(t, []string{ended}, b.card.ended())
			require.Equal(t, ledger.ChargeSucceeded, b.byCard(t, b.Service, token, "after").Status)
			require.Equal(t, []string{pays}, b.card.paidBy())

			m, err = b.Ledger.Mandate(t.Context(), m.ID)
			require.NoError(t, err)
			b.changed(t, m) // the person tries again
			require.NotEqual(t, pays, b.cardOf(t, m))
		})
	}
}

// TestChangeOfTheCardIsRefused: of a mandate that has ended, to a card that is refused, unknown or
// no longer connected, and after too many attempts. The card before still pays.
func TestChangeOfTheCardIsRefused(t *testing.T) {
	t.Parallel()
	b := both(t)
	m, _ := b.confirmed(t)
	old := b.cardOf(t, m)
	change := func(method string) error {
		_, err := b.ChangeCard(t.Context(), m, method, unprepared)
		return err
	}
	require.ErrorIs(t, change("chainrail"), rail.ErrUnknownMethod)
	errPrepare := errors.New("nothing is prepared")
	_, err := b.ChangeCard(t.Context(), m, string(rail.Card), func(_ context.Context, reference string) error {
		_, err := b.Ledger.EndInstruments(t.Context(), b.CardSession(m).Hash, []string{reference})
		require.NoError(t, err)
		return nil
	})
	require.ErrorIs(t, err, ledger.ErrSessionFinished, "it came too late")
	_, err = b.ChangeCard(t.Context(), m, string(rail.Card), func(context.Context, string) error { return errPrepare })
	require.ErrorIs(t, err, errPrepare)
	b.card.failing(&rail.RefusedError{Reason: rail.CardDeclined}, nil)
	for i := range 10 {
		err := change(string(rail.Card))
		var refused *payment.MethodError
		if !errors.As(err, &refused) {
			require.ErrorIs(t, err, payment.ErrTooManyCards)
			require.Positive(t, i)
			break
		}
		require.Less(t, i, 9, "there is no limit")
	}
	b.card.failing(nil, nil)
	b.time.Advance(25 * time.Hour)
	require.Equal(t, old, b.cardOf(t, m))
	m = b.changed(t, m)
	_, err = b.RevokeAs(t.Context(), m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	require.ErrorIs(t, change(string(rail.Card)), ledger.ErrSessionFinished)
}

// TestCardsOfARevokedMandateAreEnded: the one before and the one since.
func TestCardsOfARevokedMandateAreEnded(t *testing.T) {
	t.Parallel()
	b := both(t)
	m, _ := b.confirmed(t)
	m = b.changed(t, m)
	_, err := b.RevokeAs(t.Context(), m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	require.NoError(t, b.Start(t.Context()))
	b.unwound(t, b.cards(t, m.ID), ledger.Disconnected, ledger.Disconnected)
	require.Len(t, b.card.ended(), 2)
}
