package ledgertest

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/webhook"
)

// stream reads the merchant's events after an offset, in pages.
func (b *bench) stream(t *testing.T, after int64) (all []ledger.Event) {
	t.Helper()
	for {
		list, err := b.store.StreamEvents(t.Context(), b.merchant.ID, after, 4)
		require.NoError(t, err)
		if len(list) == 0 {
			return all
		}
		all = append(all, list...)
		after = list[len(list)-1].StreamOffset
	}
}

// streamsHaveEveryEvent: each is in its merchant's stream once, those of a mandate in order.
func streamsHaveEveryEvent(t *testing.T, b *bench) {
	ctx := t.Context()
	var mandates []ledger.Mandate
	for range 3 {
		mandates = append(mandates, b.mandate(t, b.terms(100*cent, 1000*cent)))
	}
	for i := range 12 {
		end := succeeded()
		if i%4 == 3 {
			end = declined()
		}
		b.settle(t, b.reserve(t, mandates[i%3], cent), end)
	}
	stream := b.stream(t, 0)
	require.Len(t, stream, 15)
	next := map[string]int64{}
	for i, e := range stream {
		require.EqualValues(t, i+1, e.StreamOffset)
		next[e.MandateID]++
		require.Equal(t, next[e.MandateID], e.Seq)
		stored, err := b.store.Event(ctx, e.ID)
		require.NoError(t, err)
		require.Equal(t, stored, e)
	}
	require.Len(t, b.stream(t, 7), 8)

	list, err := b.store.Events(ctx, b.merchant.ID, time.Time{}, 0, 0, 4)
	require.NoError(t, err)
	require.Len(t, list, 4)
	rest, err := b.store.Events(ctx, b.merchant.ID, time.Time{}, list[3].StreamOffset, 0, 100)
	require.NoError(t, err)
	require.Len(t, rest, 11)
	newer, err := b.store.Events(ctx, b.merchant.ID, time.Time{}, 0, list[3].StreamOffset, 100)
	require.NoError(t, err)
	require.Equal(t, list[:3], newer)
}

// eventsGetTheirPlaces: Update assigns the offsets of events, without gaps for each merchant.
func eventsGetTheirPlaces(t *testing.T, b *bench) {
	at := b.clock.Now().Truncate(time.Millisecond)
	var saved []ledger.Event
	for round := range 3 {
		var list []ledger.Event
		for n := range 6 {
			list = append(list, ledger.Event{
				ID: id.New(id.Event, at), MandateID: id.New(id.Mandate, at), Seq: 1, MerchantID: []string{"mer_a", "mer_b", "mer_a"}[n%3],
				Type: webhook.MandateCreated, Data: `{}`, CreatedAt: at,
			})
		}
		require.NoError(t, b.store.Update(t.Context(), ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
			return ledger.Effects{Insert: ledger.Rows{Events: list}}, nil
		}))
		var a, other []int64
		for _, e := range list {
			if e.MerchantID == "mer_a" {
				a = append(a, e.StreamOffset)
			} else {
				other = append(other, e.StreamOffset)
			}
		}
		first, second := int64(4*round), int64(2*round)
		require.Equal(t, []int64{first + 1, first + 2, first + 3, first + 4}, a)
		require.Equal(t, []int64{second + 1, second + 2}, other)
		saved = append(saved, list...)
	}
	for _, e := range saved {
		stored, err := b.store.Event(t.Context(), e.ID)
		require.NoError(t, err)
		require.Equal(t, e, stored)
	}
}

// streamsAgainstCharges: who reads a stream while charges go on comes past no event
// that is still to appear.
func streamsAgainstCharges(t *testing.T, b *bench) {
	const callers, each = 4, 20
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			m := b.mandate(t, b.terms(100*cent, 1000*cent))
			for range each {
				b.settle(t, b.reserve(t, m, cent), succeeded())
			}
		})
	}
	next := map[string]int64{}
	for after := int64(0); after < callers*(each+1); {
		list, err := b.store.StreamEvents(t.Context(), b.merchant.ID, after, 3)
		require.NoError(t, err)
		for _, e := range list {
			after++
			require.Equal(t, after, e.StreamOffset)
			next[e.MandateID]++
			require.Equal(t, next[e.MandateID], e.Seq)
		}
	}
	all.Wait()
	require.Empty(t, b.stream(t, callers*(each+1)))
}
