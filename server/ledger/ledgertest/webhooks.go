package ledgertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/webhook"
)

// endpoint adds an endpoint of the bench's merchant.
func (b *bench) endpoint(ctx context.Context, t require.TestingT, types ...webhook.Type) ledger.WebhookEndpoint {
	e := ledger.WebhookEndpoint{
		ID: id.New(id.WebhookEndpoint, b.clock.Now()), MerchantID: b.merchant.ID, URL: "https://shop.example/hooks",
		Types: types, Secret: []byte("sealed"), CreatedAt: b.clock.Now().Truncate(time.Millisecond),
	}
	require.NoError(t, b.store.AddWebhookEndpoint(ctx, e))
	return e
}

// arrive reads the stream of an endpoint from a place on, in steps.
func (b *bench) arrive(t *testing.T, e ledger.WebhookEndpoint, after int64) (all []ledger.StreamEvent) {
	t.Helper()
	for {
		list, err := b.store.StreamEvents(t.Context(), e, after, 4)
		require.NoError(t, err)
		if len(list) == 0 {
			return all
		}
		all = append(all, list...)
		after = list[len(list)-1].Place
	}
}

// relay empties the outbox, a few events at a time.
func (b *bench) relay(t *testing.T) (events int, woken []string) {
	t.Helper()
	var from ledger.LaneKey
	for {
		done, err := b.store.RelayEvents(t.Context(), from, 3, b.clock.Now())
		require.NoError(t, err)
		if done.Events == 0 {
			slices.Sort(woken)
			return events, slices.Compact(woken)
		}
		events += done.Events
		woken = append(woken, done.Endpoints...)
		from = done.Last
	}
}

func webhookEndpoints(t *testing.T, b *bench) {
	ctx := t.Context()
	e := b.endpoint(ctx, t, webhook.PaymentFailed, webhook.DelegateRevoked)
	got, err := b.store.WebhookEndpoint(ctx, e.ID)
	require.NoError(t, err)
	e.Former = got.Former
	require.Empty(t, got.Former)
	require.Equal(t, e, got)
	require.False(t, got.Wants(webhook.DelegateCreated))

	until := b.clock.Now().Add(time.Hour)
	require.NoError(t, b.store.RotateWebhookSecret(ctx, e.ID, []byte("fresh"), []byte("sealed"), until))
	require.ErrorIs(t, b.store.RotateWebhookSecret(ctx, e.ID, []byte("other"), []byte("sealed"), until), ledger.ErrConflict)
	got, err = b.store.WebhookEndpoint(ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"fresh", "sealed"}, []string{string(got.Secret), string(got.Former)})
	require.Equal(t, until, got.FormerUntil)

	for _, want := range []bool{true, false} {
		changed, err := b.store.DisableWebhookEndpoint(ctx, e.ID, "gone")
		require.NoError(t, err)
		require.Equal(t, want, changed)
	}
	require.NoError(t, b.store.DeleteWebhookEndpoint(ctx, e.ID))
	require.ErrorIs(t, b.store.DeleteWebhookEndpoint(ctx, e.ID), ledger.ErrNotFound)
	_, err = b.store.WebhookEndpoint(ctx, e.ID)
	require.ErrorIs(t, err, ledger.ErrNotFound)
}

// webhookEndpointsAreBounded: also where many are added at once.
func webhookEndpointsAreBounded(t *testing.T, b *bench) {
	var all sync.WaitGroup
	for range 2 * ledger.MaxWebhookEndpoints {
		all.Go(func() {
			for {
				err := b.store.AddWebhookEndpoint(t.Context(), ledger.WebhookEndpoint{
					ID: id.New(id.WebhookEndpoint, b.clock.Now()), MerchantID: b.merchant.ID, Secret: []byte{1},
				})
				if !errors.Is(err, ledger.ErrConflict) {
					if err != nil && !errors.Is(err, ledger.ErrTooManyEndpoints) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	all.Wait()
	list, err := b.store.WebhookEndpoints(t.Context(), b.merchant.ID)
	require.NoError(t, err)
	require.Len(t, list, ledger.MaxWebhookEndpoints)
	require.NoError(t, b.store.DeleteWebhookEndpoint(t.Context(), list[3].ID))
	b.endpoint(t.Context(), t)
}

// outboxIsRelayedInOrder: every event reaches who wants it, once, and those of a
// mandate in order.
func outboxIsRelayedInOrder(t *testing.T, b *bench) {
	ctx := t.Context()
	all, few := b.endpoint(ctx, t), b.endpoint(ctx, t, webhook.PaymentFailed)
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
	events, woken := b.relay(t)
	require.Equal(t, 15, events)
	ids := []string{all.ID, few.ID}
	slices.Sort(ids)
	require.Equal(t, ids, woken)

	stream := b.arrive(t, few, few.Since)
	require.Len(t, stream, 15)
	require.Equal(t, stream, b.arrive(t, all, all.Since))
	next := map[string]int64{}
	for i, e := range stream {
		require.EqualValues(t, i+1, e.Place)
		next[e.MandateID]++
		require.Equal(t, next[e.MandateID], e.Seq)
		require.False(t, e.Held)
		stored, err := b.store.Event(ctx, e.ID)
		require.NoError(t, err)
		require.Equal(t, stored, e.Event)
	}
	require.Len(t, b.arrive(t, all, 7), 8)
	require.Empty(t, b.due(t, all))
	events, _ = b.relay(t)
	require.Zero(t, events)

	list, err := b.store.Events(ctx, b.merchant.ID, "", "", 4)
	require.NoError(t, err)
	require.Len(t, list, 4)
	rest, err := b.store.Events(ctx, b.merchant.ID, list[3].ID, "", 100)
	require.NoError(t, err)
	require.Len(t, rest, 11)
	newer, err := b.store.Events(ctx, b.merchant.ID, "", list[3].ID, 100)
	require.NoError(t, err)
	require.Equal(t, list[:3], newer)
}

// relayAgainstCharges: instances that relay at once, while charges go on, lose
// and double nothing.
func relayAgainstCharges(t *testing.T, b *bench) {
	e := b.endpoint(t.Context(), t)
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			var from ledger.LaneKey
			for range 20 {
				b.settle(t, b.reserve(t, m, cent), succeeded())
				r, err := b.store.RelayEvents(t.Context(), from, 2, b.clock.Now())
				if err != nil && !errors.Is(err, ledger.ErrUnavailable) { // a deadlock that another won
					t.Error(err)
					return
				}
				from = r.Last
			}
		})
	}
	all.Wait()
	b.relay(t)
	all41 := b.arrive(t, e, 0)
	require.Len(t, all41, 41)
	for i, e := range all41 {
		require.EqualValues(t, i+1, e.Place)
		require.EqualValues(t, i+1, e.Seq)
	}
}

// webhookLeases: who has an endpoint has it alone, until it gives it back or the
// lease lapses; and nothing that is added meanwhile is overlooked.
func webhookLeases(t *testing.T, b *bench) {
	ctx := t.Context()
	e := b.endpoint(ctx, t)
	now := b.clock.Now()
	lease := func(owner string) []ledger.WebhookEndpoint {
		got, err := b.store.LeaseWebhookEndpoints(ctx, owner, b.clock.Now(), b.clock.Now().Add(30*time.Second), 10)
		require.NoError(t, err)
		return got
	}
	require.Empty(t, lease("a"), "there is nothing to do")
	b.mandate(t, b.terms(cent, cent))
	b.relay(t)
	held := lease("a")
	require.Len(t, held, 1)
	require.Equal(t, e.ID, held[0].ID)
	require.Empty(t, lease("b"))
	mine, err := b.store.ExtendWebhookLeases(ctx, "a", []string{e.ID, "whe_other"}, now.Add(time.Minute))
	require.NoError(t, err)
	require.Equal(t, []string{e.ID}, mine)
	b.clock.set(now.Add(59 * time.Second))
	require.Empty(t, lease("b"))

	wakes, err := b.store.WebhookWakes(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, map[string]int64{e.ID: held[0].WakeSeq}, wakes)
	b.mandate(t, b.terms(cent, cent))
	b.relay(t)
	wakes, err = b.store.WebhookWakes(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, map[string]int64{e.ID: held[0].WakeSeq + 1}, wakes)
	wakes, err = b.store.WebhookWakes(ctx, "b")
	require.NoError(t, err)
	require.Empty(t, wakes)
	ok, err := b.store.ReleaseWebhookEndpoint(ctx, "a", held[0], time.Time{})
	require.NoError(t, err)
	require.False(t, ok, "something was added")
	b.clock.set(now.Add(time.Minute))
	taken := lease("b")
	require.Len(t, taken, 1, "the lease has lapsed")
	ok, err = b.store.ReleaseWebhookEndpoint(ctx, "a", taken[0], time.Time{})
	require.NoError(t, err)
	require.False(t, ok, "it is another's")
	mine, err = b.store.ExtendWebhookLeases(ctx, "a", []string{e.ID, "whe_other"}, now.Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, mine)

	wake := b.clock.Now().Add(5 * time.Second)
	ok, err = b.store.ReleaseWebhookEndpoint(ctx, "b", taken[0], wake)
	require.NoError(t, err)
	require.True(t, ok)
	require.Empty(t, lease("a"))
	b.clock.set(wake)
	require.Len(t, lease("a"), 1)
	b.clock.set(wake.Add(time.Hour))
	_, err = b.store.DisableWebhookEndpoint(ctx, e.ID, "gone")
	require.NoError(t, err)
	require.Empty(t, lease("a"), "a disabled one has nothing to do")
}
