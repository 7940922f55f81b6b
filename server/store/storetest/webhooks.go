package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/webhook"
)

// endpoint adds an endpoint of the bench's merchant.
func (b *bench) endpoint(ctx context.Context, t require.TestingT, types ...webhook.Type) store.WebhookEndpoint {
	endpointID := id.New(id.WebhookEndpoint, b.clock.Now())
	e := store.WebhookEndpoint{
		ID: endpointID, MerchantID: b.merchant.ID, URL: "https://shop.example/hooks/" + endpointID,
		Types: types, Secret: []byte("sealed"), CreatedAt: b.clock.Now().Truncate(time.Millisecond),
	}
	require.NoError(t, b.store.AddWebhookEndpoint(ctx, e))
	again := e
	again.ID = id.New(id.WebhookEndpoint, b.clock.Now())
	require.ErrorIs(t, b.store.AddWebhookEndpoint(ctx, again), store.ErrEndpointExists, "an account has an endpoint once")
	return e
}

func webhookEndpoints(t *testing.T, b *bench) {
	ctx := t.Context()
	e := b.endpoint(ctx, t, webhook.PaymentFailed, webhook.MandateRevoked)
	got, err := b.store.WebhookEndpoint(ctx, e.ID)
	require.NoError(t, err)
	e.PreviousSecret = got.PreviousSecret
	require.Empty(t, got.PreviousSecret)
	require.Equal(t, e, got)
	require.False(t, got.Wants(webhook.MandateCreated))

	until := b.clock.Now().Add(time.Hour)
	require.NoError(t, b.store.RotateWebhookSecret(ctx, e.ID, []byte("fresh"), []byte("sealed"), until))
	require.ErrorIs(t, b.store.RotateWebhookSecret(ctx, e.ID, []byte("other"), []byte("sealed"), until), ledger.ErrConflict)
	got, err = b.store.WebhookEndpoint(ctx, e.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"fresh", "sealed"}, []string{string(got.Secret), string(got.PreviousSecret)})
	require.Equal(t, until, got.PreviousUntil)

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
	for n := range 2 * store.MaxWebhookEndpoints {
		all.Go(func() {
			for {
				err := b.store.AddWebhookEndpoint(t.Context(), store.WebhookEndpoint{
					ID: id.New(id.WebhookEndpoint, b.clock.Now()), MerchantID: b.merchant.ID, Secret: []byte{1}, URL: fmt.Sprint("https://shop.example/", n),
				})
				if !errors.Is(err, ledger.ErrConflict) {
					if err != nil && !errors.Is(err, store.ErrTooManyEndpoints) {
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
	require.Len(t, list, store.MaxWebhookEndpoints)
	require.NoError(t, b.store.DeleteWebhookEndpoint(t.Context(), list[3].ID))
	b.endpoint(t.Context(), t)
}

// webhookLeases: an endpoint has one lease at a time, until it is released or ends; and no
// redelivery or rotation meanwhile is overlooked.
func webhookLeases(t *testing.T, b *bench) {
	ctx := t.Context()
	e := b.endpoint(ctx, t)
	now := b.clock.Now()
	lease := func(owner string) []store.WebhookEndpoint {
		due, err := b.store.DueWebhookEndpoints(ctx, []string{"mer_none", b.merchant.ID}, b.clock.Now(), 10)
		require.NoError(t, err)
		got, err := b.store.LeaseWebhookEndpoints(ctx, owner, due, b.clock.Now(), b.clock.Now().Add(30*time.Second))
		require.NoError(t, err)
		return got
	}
	require.Empty(t, lease("a"), "there is nothing to do")
	b.mandate(t)
	require.Equal(t, []string{e.ID}, b.behind(t))
	held := lease("a")
	require.Len(t, held, 1)
	require.Equal(t, e.ID, held[0].ID)
	require.Empty(t, lease("b"))
	again, err := b.store.LeaseWebhookEndpoints(ctx, "b", []string{e.ID}, now, now.Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, again, "it is leased")
	require.Empty(t, b.behind(t))
	mine, err := b.store.ExtendWebhookLeases(ctx, "a", []string{e.ID, "whe_other"}, now.Add(time.Minute))
	require.NoError(t, err)
	require.Equal(t, []string{e.ID}, mine)
	b.clock.set(now.Add(59 * time.Second))
	require.Empty(t, lease("b"))

	release := func(owner string, e store.WebhookEndpoint, wake time.Time) {
		require.NoError(t, b.store.ReleaseWebhookEndpoint(ctx, owner, e, b.clock.Now(), wake))
	}
	b.clock.set(now.Add(time.Minute))
	taken := lease("b")
	require.Len(t, taken, 1, "the lease has ended")
	release("a", taken[0], time.Time{})
	require.Empty(t, lease("c"), "another one's lease cannot be released")
	mine, err = b.store.ExtendWebhookLeases(ctx, "a", []string{e.ID, "whe_other"}, now.Add(time.Hour))
	require.NoError(t, err)
	require.Empty(t, mine)

	require.NoError(t, b.store.SaveEndpoints(ctx, "b", []store.EndpointState{{EndpointID: e.ID, Offset: 1}}))
	wake := b.clock.Now().Add(5 * time.Second)
	release("b", taken[0], wake)
	require.Empty(t, lease("a"))
	b.clock.set(wake)
	require.Empty(t, b.behind(t), "it is at the end of its stream")
	require.Len(t, lease("a"), 1, "its time has come")
	b.clock.set(wake.Add(time.Hour))
	_, err = b.store.DisableWebhookEndpoint(ctx, e.ID, "gone")
	require.NoError(t, err)
	require.Empty(t, lease("a"), "a disabled one has nothing to do")
}

// clockGoesBack: an endpoint that was released has no lease, even if the clock has gone back
// since; a new event or a redelivery is sent at once.
func clockGoesBack(t *testing.T, b *bench) {
	ctx := t.Context()
	e := b.endpoint(ctx, t)
	moved := b.clock.Now()
	b.mandate(t)
	for _, back := range []time.Duration{0, time.Minute, 30 * 24 * time.Hour} {
		now := moved.Add(-back)
		due, err := b.store.DueWebhookEndpoints(ctx, []string{b.merchant.ID}, now, 10)
		require.NoError(t, err)
		require.Equal(t, []string{e.ID}, due, back)
		behind, err := b.store.BehindWebhookEndpoints(ctx, now, 10)
		require.NoError(t, err)
		require.Equal(t, []string{e.ID}, behind, back)
		leased, err := b.store.LeaseWebhookEndpoints(ctx, "a", due, now, now.Add(30*time.Second))
		require.NoError(t, err)
		require.Len(t, leased, 1, back)
		require.NoError(t, b.store.ReleaseWebhookEndpoint(ctx, "a", leased[0], moved, time.Time{}))
	}
	now := moved.Add(-time.Hour)
	list, err := b.store.Events(ctx, b.merchant.ID, time.Time{}, 0, 0, 1)
	require.NoError(t, err)
	require.NoError(t, b.store.Redeliver(ctx, list[0].ID, []string{e.ID}, now))
	due, err := b.store.DueWebhookEndpoints(ctx, nil, now, 10)
	require.NoError(t, err)
	require.Equal(t, []string{e.ID}, due)
}

// webhookNews: the holder of a lease reads the end of the stream, and a new version after
// each change; an endpoint that changed is due as soon as the lease ends.
func webhookNews(t *testing.T, b *bench) {
	ctx := t.Context()
	e := b.endpoint(ctx, t)
	m := b.mandate(t)
	lease := func() store.WebhookEndpoint {
		held, err := b.store.LeaseWebhookEndpoints(ctx, "a", []string{e.ID}, b.clock.Now(), b.clock.Now().Add(30*time.Second))
		require.NoError(t, err)
		require.Len(t, held, 1)
		return held[0]
	}
	held := lease()
	news := func(owner string) map[string]store.EndpointNews {
		got, err := b.store.WebhookNews(ctx, owner)
		require.NoError(t, err)
		return got
	}
	require.Equal(t, map[string]store.EndpointNews{e.ID: {Version: held.Version, StreamEnd: 1}}, news("a"))
	require.NoError(t, b.store.SaveEndpoints(ctx, "a", []store.EndpointState{{EndpointID: e.ID, Offset: 1}}))
	for change, do := range []func() error{
		func() error { return b.store.Redeliver(ctx, b.eventsOf(t, m)[0].ID, []string{e.ID}, b.clock.Now()) },
		func() error {
			return b.store.RotateWebhookSecret(ctx, e.ID, []byte("fresh"), []byte("sealed"), b.clock.Now().Add(time.Hour))
		},
	} {
		require.NoError(t, do())
		require.Equal(t, held.Version+1, news("a")[e.ID].Version, change)
		require.Empty(t, news("b"))
		require.NoError(t, b.store.ReleaseWebhookEndpoint(ctx, "a", held, b.clock.Now(), time.Time{}))
		due, err := b.store.DueWebhookEndpoints(ctx, nil, b.clock.Now(), 10)
		require.NoError(t, err)
		require.Equal(t, []string{e.ID}, due, change)
		require.Empty(t, news("a"))
		held = lease()
	}
	_, err := b.store.DisableWebhookEndpoint(ctx, e.ID, "gone")
	require.NoError(t, err)
	require.Equal(t, held.Version+1, news("a")[e.ID].Version)
}

// behind lists the endpoints of all merchants that are behind the end of their streams.
func (b *bench) behind(t *testing.T) []string {
	t.Helper()
	all, err := b.store.BehindWebhookEndpoints(t.Context(), b.clock.Now(), 10)
	require.NoError(t, err)
	return all
}
