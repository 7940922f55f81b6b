package ledgertest

import (
	"context"
	"errors"
	"fmt"
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

func (b *bench) due(t *testing.T, e ledger.WebhookEndpoint, from ledger.LaneKey) []ledger.DueDelivery {
	t.Helper()
	due, err := b.store.DueDeliveries(t.Context(), e.ID, from, b.clock.Now(), 100)
	require.NoError(t, err)
	return due
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

	due := b.due(t, all, ledger.LaneKey{})
	require.Len(t, due, 15)
	next := map[string]int64{}
	for _, d := range due {
		next[d.Lane]++
		require.Equal(t, next[d.Lane], d.Seq)
		require.Equal(t, d.Lane, d.Event.MandateID)
		stored, err := b.store.Event(ctx, d.EventID)
		require.NoError(t, err)
		require.Equal(t, stored, d.Event)
	}
	require.Len(t, b.due(t, all, ledger.LaneKey{Lane: due[6].Lane, Seq: due[6].Seq}), 8)
	failed := b.due(t, few, ledger.LaneKey{})
	require.Len(t, failed, 3)
	for _, d := range failed {
		require.Equal(t, webhook.PaymentFailed, d.Event.Type)
	}
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
	due := b.due(t, e, ledger.LaneKey{})
	require.Len(t, due, 41)
	for i, d := range due {
		require.EqualValues(t, i+1, d.Seq)
	}
}

// deliveriesHoldBack: what comes after a delivery that waits, in its lane, waits too.
func deliveriesHoldBack(t *testing.T, b *bench) {
	ctx := t.Context()
	e := b.endpoint(ctx, t)
	one, other := b.mandate(t, b.terms(100*cent, 1000*cent)), b.mandate(t, b.terms(100*cent, 1000*cent))
	for range 2 {
		b.settle(t, b.reserve(t, one, cent), succeeded())
	}
	b.relay(t)
	now := b.clock.Now()
	due := b.due(t, e, ledger.LaneKey{})
	require.Len(t, due, 4)
	i := slices.IndexFunc(due, func(d ledger.DueDelivery) bool { return d.Lane == one.ID })
	tried := due[i].Delivery
	tried.Attempts, tried.Next, tried.HTTPStatus, tried.Error, tried.Answer, tried.TriedAt = 1, now.Add(5*time.Second), 500, "answered 500", "näh\n", now
	require.NoError(t, b.store.SaveDeliveries(ctx, []ledger.Delivery{tried}, []ledger.EndpointHealth{{EndpointID: e.ID, FailingSince: now, Failures: 1}}))
	due = b.due(t, e, ledger.LaneKey{})
	require.Len(t, due, 1)
	require.Equal(t, other.ID, due[0].Lane)
	next, err := b.store.NextRetry(ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, tried.Next, next)
	list, err := b.store.Deliveries(ctx, e.ID, ledger.DeliveryPending, 10)
	require.NoError(t, err)
	require.Contains(t, list, tried)
	b.endpoint(ctx, t) // it came later
	list, err = b.store.EventDeliveries(ctx, ledger.Event{ID: tried.EventID, MerchantID: e.MerchantID})
	require.NoError(t, err)
	require.Equal(t, []ledger.Delivery{tried}, list)
	list, err = b.store.EventDeliveries(ctx, ledger.Event{ID: tried.EventID, MerchantID: "mer_other"})
	require.NoError(t, err)
	require.Empty(t, list)
	got, err := b.store.WebhookEndpoint(ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, now, got.FailingSince)
	require.Equal(t, 1, got.Failures)

	b.clock.set(next)
	require.Len(t, b.due(t, e, ledger.LaneKey{}), 4)
	tried.Status, tried.Attempts = ledger.DeliveryFailed, 11
	require.NoError(t, b.store.SaveDeliveries(ctx, []ledger.Delivery{tried}, nil))
	require.Len(t, b.due(t, e, ledger.LaneKey{}), 3, "one that is given up holds back nothing")

	require.NoError(t, b.store.Redeliver(ctx, tried.EventID, []string{e.ID}, b.clock.Now()))
	due = b.due(t, e, ledger.LaneKey{})
	require.Len(t, due, 4)
	require.Contains(t, fmt.Sprint(due), tried.EventID)
	for _, d := range due {
		require.Equal(t, d.EventID == tried.EventID, d.Lane == d.EventID, "sent again in a lane of its own")
		d.Status = ledger.DeliveryDelivered
		require.NoError(t, b.store.SaveDeliveries(ctx, []ledger.Delivery{d.Delivery}, nil))
	}
}

// redeliveryDuringAnAttempt: what came of the attempt does not end the delivery
// that was asked for meanwhile, however often.
func redeliveryDuringAnAttempt(t *testing.T, b *bench) {
	ctx := t.Context()
	e := b.endpoint(ctx, t)
	b.mandate(t, b.terms(100*cent, 1000*cent))
	b.relay(t)
	for range 3 {
		due := b.due(t, e, ledger.LaneKey{})
		require.Len(t, due, 1)
		underWay := due[0].Delivery
		require.NoError(t, b.store.Redeliver(ctx, underWay.EventID, []string{e.ID}, b.clock.Now()))
		for _, came := range []ledger.DeliveryStatus{ledger.DeliveryDelivered, ledger.DeliveryPending, ledger.DeliveryFailed} {
			underWay.Status, underWay.Attempts, underWay.Next = came, 7, b.clock.Now().Add(time.Hour)
			require.NoError(t, b.store.SaveDeliveries(ctx, []ledger.Delivery{underWay}, nil))
		}
	}
	due := b.due(t, e, ledger.LaneKey{})
	require.Len(t, due, 1)
	require.Zero(t, due[0].Attempts)
	last := due[0].Delivery
	last.Status = ledger.DeliveryDelivered
	require.NoError(t, b.store.SaveDeliveries(ctx, []ledger.Delivery{last}, nil))
	require.Empty(t, b.due(t, e, ledger.LaneKey{}))
}

// deliveryRetention: deliveries go after thirty days, whatever came of them, and
// those whose endpoint is gone as well; an event stays while it is being sent.
func deliveryRetention(t *testing.T, b *bench) {
	ctx := t.Context()
	e, idle := b.endpoint(ctx, t), b.endpoint(ctx, t)
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	for range 3 {
		b.settle(t, b.reserve(t, m, cent), succeeded())
	}
	b.relay(t)
	due := b.due(t, e, ledger.LaneKey{})
	require.Len(t, due, 4)
	due[0].Status, due[1].Status = ledger.DeliveryDelivered, ledger.DeliveryFailed
	require.NoError(t, b.store.SaveDeliveries(ctx, []ledger.Delivery{due[0].Delivery, due[1].Delivery}, nil))
	_, err := b.store.DisableWebhookEndpoint(ctx, idle.ID, "gone")
	require.NoError(t, err)

	b.clock.set(b.clock.Now().Add(ledger.Keep))
	_, err = b.Expire(ctx)
	require.NoError(t, err)
	require.Equal(t, 8, b.deliveries(t, e, idle), "thirty days are kept in full")
	require.NoError(t, b.store.Redeliver(ctx, due[1].EventID, []string{e.ID}, b.clock.Now()))

	b.clock.set(b.clock.Now().Add(time.Hour))
	_, err = b.Expire(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, b.deliveries(t, e, idle))
	require.Len(t, b.eventsOf(t, m), 1, "that which is sent again")
	again := b.due(t, e, ledger.LaneKey{})
	require.Len(t, again, 1)
	require.Equal(t, due[1].EventID, again[0].EventID)
	again[0].Status = ledger.DeliveryDelivered
	require.NoError(t, b.store.SaveDeliveries(ctx, []ledger.Delivery{again[0].Delivery}, nil))
	b.clock.set(b.clock.Now().Add(ledger.Keep + time.Hour))
	_, err = b.Expire(ctx)
	require.NoError(t, err)
	require.Zero(t, b.deliveries(t, e, idle))
	require.Empty(t, b.eventsOf(t, m))
	b.sound(t)
}

// deliveries counts those of some endpoints.
func (b *bench) deliveries(t *testing.T, endpoints ...ledger.WebhookEndpoint) (n int) {
	t.Helper()
	for _, e := range endpoints {
		for _, status := range []ledger.DeliveryStatus{ledger.DeliveryPending, ledger.DeliveryDelivered, ledger.DeliveryFailed} {
			list, err := b.store.Deliveries(t.Context(), e.ID, status, 100)
			require.NoError(t, err)
			n += len(list)
		}
	}
	return n
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
