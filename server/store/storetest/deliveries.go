package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/webhook"
)

// outcome is the delivery of an event to an endpoint after some attempts.
func outcome(e store.WebhookEndpoint, of ledger.Event, status store.DeliveryStatus, attempts int) store.Delivery {
	return store.Delivery{
		EndpointID: e.ID, EventID: of.ID, Lane: of.MandateID, Seq: of.Seq, Status: status, Attempts: attempts, CreatedAt: of.CreatedAt,
	}
}

func (b *bench) save(t *testing.T, all ...store.Delivery) {
	t.Helper()
	require.NoError(t, b.store.SaveDeliveries(t.Context(), "", all))
}

// reach saves the states of endpoints.
func (b *bench) reach(t *testing.T, states ...store.EndpointState) {
	t.Helper()
	require.NoError(t, b.store.SaveEndpoints(t.Context(), "", states))
}

// due lists the stored deliveries to an endpoint that may be sent now.
func (b *bench) due(t *testing.T, e store.WebhookEndpoint) (due []store.DueDelivery) {
	t.Helper()
	for from := ""; ; {
		lanes, err := b.store.DueLanes(t.Context(), e.ID, from, b.clock.Now(), 1)
		require.NoError(t, err)
		if len(lanes) == 0 {
			return due
		}
		from = lanes[0]
		list, err := b.store.LaneDeliveries(t.Context(), e.ID, from, 100)
		require.NoError(t, err)
		due = append(due, list...)
	}
}

// deliveriesOf lists an event's deliveries to the bench's merchant.
func (b *bench) deliveriesOf(t *testing.T, of ledger.Event) []store.Delivery {
	t.Helper()
	of, err := b.store.Event(t.Context(), of.ID)
	require.NoError(t, err)
	list, err := b.store.EventDeliveries(t.Context(), of)
	require.NoError(t, err)
	return list
}

// endpointsComeForward: an endpoint begins at the end of the stream when it is added, its
// offset never goes back, and what the offset has passed counts as delivered.
func endpointsComeForward(t *testing.T, b *bench) {
	ctx := t.Context()
	b.mandate(t)
	e, few := b.endpoint(ctx, t), b.endpoint(ctx, t, webhook.PaymentFailed)
	e, err := b.store.WebhookEndpoint(ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 1}, []int64{e.StartOffset, e.Offset})
	m := b.mandate(t)
	b.charge(t, m)
	stream := b.stream(t, e.Offset)
	require.Len(t, stream, 2)
	first := b.stream(t, 0)[0]
	require.Empty(t, b.deliveriesOf(t, first), "it was before the endpoint")
	require.Empty(t, b.due(t, e), "an event that was not tried yet has no stored delivery")

	pending := outcome(e, stream[0], store.DeliveryPending, 0)
	require.Equal(t, []store.Delivery{pending}, b.deliveriesOf(t, stream[0]))
	now := b.clock.Now()
	state := store.EndpointState{EndpointID: e.ID, Offset: 2, FailingSince: now, Failures: 3, PausedUntil: now.Add(time.Second)}
	b.reach(t, store.EndpointState{EndpointID: few.ID, Offset: 3}, store.EndpointState{EndpointID: "whe_gone"}, state)
	require.Equal(t, []store.Delivery{outcome(e, stream[0], store.DeliveryDelivered, 1)}, b.deliveriesOf(t, stream[0]))
	require.Equal(t, []store.Delivery{outcome(e, stream[1], store.DeliveryPending, 0)}, b.deliveriesOf(t, stream[1]))
	state.Offset = 1
	b.reach(t, state)
	got, err := b.store.WebhookEndpoint(ctx, e.ID)
	require.NoError(t, err)
	e.Offset, e.FailingSince, e.Failures, e.PausedUntil = 2, now, 3, now.Add(time.Second)
	require.Equal(t, e, got)

	_, err = b.store.DisableWebhookEndpoint(ctx, e.ID, "gone")
	require.NoError(t, err)
	require.Len(t, b.deliveriesOf(t, stream[0]), 1)
	require.Empty(t, b.deliveriesOf(t, stream[1]), "it will not be sent")
	list, err := b.store.EventDeliveries(ctx, ledger.Event{ID: stream[0].ID, MerchantID: "mer_other", StreamOffset: 2})
	require.NoError(t, err)
	require.Empty(t, list)
}

// deliveriesHoldBack: what comes after a delivery that waits, in its lane, waits too.
func deliveriesHoldBack(t *testing.T, b *bench) {
	ctx := t.Context()
	e := b.endpoint(ctx, t)
	one, other := b.mandate(t), b.mandate(t)
	for range 2 {
		b.charge(t, one)
	}
	now := b.clock.Now()
	stream := b.stream(t, e.StartOffset)
	require.Len(t, stream, 4)
	var lane []ledger.Event
	for _, s := range stream {
		if s.MandateID == one.ID {
			lane = append(lane, s)
		}
	}
	tried := outcome(e, lane[0], store.DeliveryPending, 1)
	tried.Next, tried.HTTPStatus, tried.Error, tried.Answer, tried.TriedAt = now.Add(5*time.Second), 500, "answered 500", "näh\n", now
	held := outcome(e, lane[1], store.DeliveryPending, 0)
	b.save(t, tried, held)
	holds := func() []string {
		got, err := b.store.HeldLanes(ctx, e.ID, []string{other.ID, one.ID, "del_none"})
		require.NoError(t, err)
		return got
	}
	require.Equal(t, []string{one.ID}, holds())
	retries := func() []string {
		lanes, err := b.store.RetryLanes(ctx, e.ID, b.clock.Now(), 10)
		require.NoError(t, err)
		return lanes
	}
	require.Empty(t, b.due(t, e))
	require.Empty(t, retries())
	next, err := b.store.NextRetry(ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, tried.Next, next)
	list, err := b.store.Deliveries(ctx, e.ID, store.DeliveryPending, 10)
	require.NoError(t, err)
	require.Contains(t, list, tried)
	b.endpoint(ctx, t) // it came later
	require.Equal(t, []store.Delivery{tried}, b.deliveriesOf(t, lane[0]))

	b.clock.set(next)
	due := b.due(t, e)
	require.Len(t, due, 2)
	for i, d := range due {
		require.Equal(t, lane[i], d.Event)
	}
	first, err := b.store.LaneDeliveries(ctx, e.ID, one.ID, 1)
	require.NoError(t, err)
	require.Equal(t, due[:1], first)
	require.Equal(t, []string{one.ID}, retries())
	require.NotEqual(t, other.ID, due[0].Lane)
	tried.Status, tried.Attempts = store.DeliveryFailed, 11
	b.save(t, tried)
	require.Len(t, b.due(t, e), 1, "one that is given up holds back nothing")

	require.NoError(t, b.store.Redeliver(ctx, tried.EventID, []string{e.ID}, b.clock.Now()))
	due = b.due(t, e)
	require.Len(t, due, 2)
	for _, d := range due {
		require.Equal(t, d.EventID == tried.EventID, d.Lane == d.EventID, "sent again in a lane of its own")
		d.Status, d.Attempts = store.DeliveryDelivered, 1
		b.save(t, d.Delivery)
	}
	require.Empty(t, b.due(t, e))
	require.Empty(t, holds())
}

// outcomesCountOnce: whatever is saved again, or out of its time, an outcome with
// fewer attempts changes nothing, and an endpoint that is gone gets no deliveries.
func outcomesCountOnce(t *testing.T, b *bench) {
	ctx := t.Context()
	e := b.endpoint(ctx, t)
	b.mandate(t)
	event := b.stream(t, e.StartOffset)[0]
	last := outcome(e, event, store.DeliveryPending, 2)
	b.save(t, outcome(e, event, store.DeliveryPending, 0))
	b.save(t, outcome(e, event, store.DeliveryPending, 1))
	b.save(t, last)
	require.Equal(t, []store.Delivery{last}, b.deliveriesOf(t, event))
	b.save(t, outcome(e, event, store.DeliveryPending, 0))
	b.save(t, outcome(e, event, store.DeliveryFailed, 2))
	require.Equal(t, []store.Delivery{last}, b.deliveriesOf(t, event))
	last.Status, last.Attempts = store.DeliveryDelivered, 3
	b.save(t, last)
	b.save(t, outcome(e, event, store.DeliveryPending, 1))
	require.Equal(t, []store.Delivery{last}, b.deliveriesOf(t, event))

	require.NoError(t, b.store.DeleteWebhookEndpoint(ctx, e.ID))
	late := []store.Delivery{outcome(e, event, store.DeliveryPending, 1)}
	require.ErrorIs(t, b.store.SaveDeliveries(ctx, "", late), store.ErrLeaseLost)
	require.Zero(t, b.deliveries(t, e))
}

// lateSavesAreRefused: an owner whose lease another one has taken saves nothing, neither
// deliveries nor the endpoint's state; and not to one endpoint if it lost another.
func lateSavesAreRefused(t *testing.T, b *bench) {
	ctx := t.Context()
	lost, kept := b.endpoint(ctx, t), b.endpoint(ctx, t)
	b.mandate(t)
	event := b.stream(t, lost.StartOffset)[0]
	both := []string{lost.ID, kept.ID}
	lease := func(owner string, ids ...string) {
		held, err := b.store.LeaseWebhookEndpoints(ctx, owner, ids, b.clock.Now(), b.clock.Now().Add(time.Minute))
		require.NoError(t, err)
		require.Len(t, held, len(ids))
	}
	lease("stalled", both...)
	b.clock.set(b.clock.Now().Add(time.Minute))
	lease("successor", lost.ID)

	late := []store.Delivery{outcome(kept, event, store.DeliveryPending, 1), outcome(lost, event, store.DeliveryPending, 1)}
	require.ErrorIs(t, b.store.SaveDeliveries(ctx, "stalled", late), store.ErrLeaseLost)
	require.ErrorIs(t, b.store.SaveDeliveries(ctx, "", late), store.ErrLeaseLost)
	require.Zero(t, b.deliveries(t, kept))
	require.Zero(t, b.deliveries(t, lost))
	paused := b.clock.Now().Add(time.Hour)
	require.NoError(t, b.store.SaveEndpoints(ctx, "stalled", []store.EndpointState{{EndpointID: lost.ID, PausedUntil: paused, Offset: 1}}))
	e, err := b.store.WebhookEndpoint(ctx, lost.ID)
	require.NoError(t, err)
	require.Zero(t, e.PausedUntil)
	require.Equal(t, lost.Offset, e.Offset)

	require.NoError(t, b.store.SaveDeliveries(ctx, "successor", late[1:]))
	require.NoError(t, b.store.SaveDeliveries(ctx, "stalled", late[:1]))
	require.Equal(t, 1, b.deliveries(t, kept))
	require.Equal(t, 1, b.deliveries(t, lost))
}

// redeliveryDuringAnAttempt: the result of the attempt does not end the delivery
// that was asked for meanwhile, however often.
func redeliveryDuringAnAttempt(t *testing.T, b *bench) {
	ctx := t.Context()
	e := b.endpoint(ctx, t)
	b.mandate(t)
	underWay := outcome(e, b.stream(t, e.StartOffset)[0], store.DeliveryPending, 0)
	for range 3 {
		require.NoError(t, b.store.Redeliver(ctx, underWay.EventID, []string{e.ID}, b.clock.Now()))
		for _, came := range []store.DeliveryStatus{store.DeliveryDelivered, store.DeliveryPending, store.DeliveryFailed} {
			underWay.Status, underWay.Attempts, underWay.Next = came, 7, b.clock.Now().Add(time.Hour)
			b.save(t, underWay)
		}
		due := b.due(t, e)
		require.Len(t, due, 1)
		require.Zero(t, due[0].Attempts)
		underWay = due[0].Delivery
	}
	underWay.Status, underWay.Attempts = store.DeliveryDelivered, 1
	b.save(t, underWay)
	require.Empty(t, b.due(t, e))
}

// deliveryRetention: deliveries go after thirty days, whatever came of them, and
// those whose endpoint is gone as well; an event stays while it is being sent.
func deliveryRetention(t *testing.T, b *bench) {
	ctx := t.Context()
	e, idle := b.endpoint(ctx, t), b.endpoint(ctx, t)
	m := b.mandate(t)
	for range 3 {
		b.charge(t, m)
	}
	stream := b.stream(t, e.StartOffset)
	for i, status := range []store.DeliveryStatus{store.DeliveryDelivered, store.DeliveryFailed, store.DeliveryPending, store.DeliveryPending} {
		b.save(t, outcome(e, stream[i], status, 1), outcome(idle, stream[i], store.DeliveryPending, 0))
	}
	_, err := b.store.DisableWebhookEndpoint(ctx, idle.ID, "gone")
	require.NoError(t, err)

	b.clock.set(b.clock.Now().Add(ledger.Keep))
	b.expire(t)
	require.Equal(t, 8, b.deliveries(t, e, idle), "thirty days are kept in full")
	require.NoError(t, b.store.Redeliver(ctx, stream[1].ID, []string{e.ID}, b.clock.Now()))

	b.clock.set(b.clock.Now().Add(time.Hour))
	b.expire(t)
	require.Equal(t, 1, b.deliveries(t, e, idle))
	require.Len(t, b.eventsOf(t, m), 3, "that which is sent again, and what came after it")
	again := b.due(t, e)
	require.Len(t, again, 1)
	require.Equal(t, stream[1].ID, again[0].EventID)
	again[0].Status, again[0].Attempts = store.DeliveryDelivered, 1
	b.save(t, again[0].Delivery)
	b.clock.set(b.clock.Now().Add(ledger.Keep + time.Hour))
	b.expire(t)
	require.Zero(t, b.deliveries(t, e, idle))
	require.Empty(t, b.eventsOf(t, m))
	b.sound(t)
}

// checkerAndRetention: an event that a merchant has sent again just before it expires
// does not make the ledger unsound, for whichever check.
func checkerAndRetention(t *testing.T, b *bench) {
	ctx := t.Context()
	e := b.endpoint(ctx, t)
	m := b.mandate(t)
	b.charge(t, m)
	b.charge(t, m)
	b.sound(t)
	second := b.eventsOf(t, m)[1]

	b.clock.set(b.clock.Now().Add(ledger.Keep - time.Minute))
	require.NoError(t, b.store.Redeliver(ctx, second.ID, []string{e.ID}, b.clock.Now()))
	b.clock.set(b.clock.Now().Add(90 * time.Minute))
	b.expire(t)
	left := b.eventsOf(t, m)
	require.Len(t, left, 2, "the first has gone")
	require.Equal(t, second.ID, left[0].ID, "it is still to be delivered, and holds back what comes after it")
	b.sound(t)
	b.charge(t, m)
	b.sound(t)
}

// deliveries counts those of some endpoints that are stored.
func (b *bench) deliveries(t *testing.T, endpoints ...store.WebhookEndpoint) (n int) {
	t.Helper()
	for _, e := range endpoints {
		for _, status := range []store.DeliveryStatus{store.DeliveryPending, store.DeliveryDelivered, store.DeliveryFailed} {
			list, err := b.store.Deliveries(t.Context(), e.ID, status, 100)
			require.NoError(t, err)
			n += len(list)
		}
	}
	return n
}
