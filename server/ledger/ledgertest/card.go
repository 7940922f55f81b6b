package ledgertest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// anotherCard connects a card that a mandate can change to, and returns its reference.
func (b *bench) anotherCard(t require.TestingT, m ledger.Mandate, method string) string {
	ctx := context.Background()
	i, err := b.BeginCard(ctx, m.ID, rail.Connection{Reference: m.ID + method, Method: method, Session: "change of " + m.ID + method})
	require.NoError(t, err)
	require.Empty(t, i.MandateID)
	_, err = b.ConnectedInstrument(ctx, i.Reference, rail.Instrument{Rail: rail.Card, Customer: "cus_2", Method: method})
	require.NoError(t, err)
	return i.Reference
}

// changedCard: what begins after the change has the new card, and what began before keeps its
// own, also in the store. One card pays at a time.
func changedCard(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	before, draw := b.reserve(t, m, 10*cent), b.draw(t, m, cent)
	first := b.anotherCard(t, m, "pm_2")
	changed, err := b.ChangeCard(ctx, m.ID, first)
	require.NoError(t, err)
	require.Equal(t, first, changed.Card)
	again, err := b.ChangeCard(ctx, m.ID, first)
	require.NoError(t, err, "repeating it changes nothing")
	require.Equal(t, changed, again)
	after, later := b.reserve(t, m, 10*cent), b.draw(t, m, cent)
	require.Equal(t, draw.TabID, later.TabID)
	for c, card := range map[string]string{before.ID: "", draw.ID: "", later.ID: "", after.ID: first} {
		stored, err := b.Charge(ctx, c)
		require.NoError(t, err)
		require.Equal(t, card, stored.Card)
	}
	require.Empty(t, b.closed(t, draw).Card)
	opened, err := b.Tab(ctx, b.draw(t, m, cent).TabID)
	require.NoError(t, err)
	require.Equal(t, first, opened.Card)

	states := func() map[string]ledger.InstrumentState {
		rows, err := b.InstrumentsOfMandate(ctx, m.ID)
		require.NoError(t, err)
		got := map[string]ledger.InstrumentState{}
		for _, i := range rows {
			got[i.Method] = i.State
		}
		return got
	}
	require.Equal(t, map[string]ledger.InstrumentState{"pm_1": ledger.Disconnecting, "pm_2": ledger.Connected}, states())

	var callers sync.WaitGroup
	var changes atomic.Int32
	cards := []string{b.anotherCard(t, m, "pm_3"), b.anotherCard(t, m, "pm_4")}
	for _, card := range cards {
		callers.Go(func() {
			if _, err := b.ChangeCard(ctx, m.ID, card); err == nil {
				changes.Add(1)
			}
		})
	}
	callers.Wait()
	require.Positive(t, changes.Load())
	connected := 0
	for _, state := range states() {
		if state == ledger.Connected {
			connected++
		}
	}
	require.Equal(t, 1, connected)
	stored, err := b.Mandate(ctx, m.ID)
	require.NoError(t, err)
	require.Contains(t, cards, stored.Card)
	b.sound(t)
}

// cardsThatAreNotChangedTo: of a mandate that has ended, cards that are not connected, and cards
// that came too late.
func cardsThatAreNotChangedTo(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	_, err := b.ChangeCard(ctx, m.ID, "none")
	require.ErrorIs(t, err, ledger.ErrNotFound)
	begun, err := b.BeginCard(ctx, m.ID, rail.Connection{Reference: "begun", Session: "change"})
	require.NoError(t, err)
	_, err = b.ChangeCard(ctx, m.ID, begun.Reference)
	require.ErrorIs(t, err, ledger.ErrConflict)
	other := b.mandate(t, b.terms(100*cent, 1000*cent))
	others := b.anotherCard(t, other, "pm_2")
	_, err = b.ChangeCard(ctx, other.ID, others)
	require.NoError(t, err)
	_, err = b.ChangeCard(ctx, m.ID, others)
	require.ErrorIs(t, err, ledger.ErrConflict, "another mandate's")

	card := b.anotherCard(t, m, "pm_3")
	b.clock.set(b.clock.Now().Add(11 * time.Minute))
	due, err := b.Unwinds(ctx, time.Minute, 100)
	require.NoError(t, err)
	for _, u := range due {
		if u.Kind == ledger.UnwindSession {
			_, err = b.EndInstruments(ctx, u.ID, []string{card, others})
			require.NoError(t, err)
		}
	}
	_, err = b.ChangeCard(ctx, m.ID, card)
	require.ErrorIs(t, err, ledger.ErrConflict, "it came too late")
	rows, err := b.InstrumentsOfMandate(ctx, other.ID)
	require.NoError(t, err)
	for _, i := range rows {
		require.Equal(t, i.Reference == others, i.State == ledger.Connected, "the one that was changed to stays")
	}
	_, err = b.Revoke(ctx, m.ID, ledger.RevokedByUser)
	require.NoError(t, err)
	var ended *ledger.Refusal
	_, err = b.BeginCard(ctx, m.ID, rail.Connection{Reference: "late", Session: "change"})
	require.ErrorAs(t, err, &ended)
	_, err = b.ChangeCard(ctx, m.ID, card)
	require.ErrorAs(t, err, &ended)
	b.sound(t)
}
