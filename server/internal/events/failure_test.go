package events_test

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/events"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// failing is a store that can be made to fail.
type failing struct {
	events.Store

	deliveries, streams atomic.Bool
	failed, reads       atomic.Int64
}

func (f *failing) WebhookEndpoint(ctx context.Context, id string) (store.WebhookEndpoint, error) {
	f.reads.Add(1)
	return f.Store.WebhookEndpoint(ctx, id)
}

func (f *failing) SaveDeliveries(ctx context.Context, owner string, all []store.Delivery) error {
	if f.deliveries.Load() {
		f.failed.Add(1)
		return errors.New("disk full")
	}
	return f.Store.SaveDeliveries(ctx, owner, all)
}

func (f *failing) StreamEvents(ctx context.Context, merchantID string, after int64, limit int) ([]ledger.Event, error) {
	if f.streams.Load() {
		f.failed.Add(1)
		return nil, errors.New("disk gone")
	}
	return f.Store.StreamEvents(ctx, merchantID, after, limit)
}

// TestStoreErrorLosesNoEventAndNoOrder: the store fails while a failure is to be stored, and
// while the stream is read; afterwards each mandate's events come in order.
func TestStoreErrorLosesNoEventAndNoOrder(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var order []string
	seen := map[string]bool{}
	var refuse atomic.Bool
	port, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		if refuse.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if key := r.Header.Get("webhook-id"); !seen[key] {
			seen[key] = true
			order = append(order, key)
		}
	})
	b := setup(t, func(string, int) []netip.Addr { return []netip.Addr{loopback} })
	b.Close()
	store := &failing{Store: b.cfg.Store}
	b.cfg.Store = store
	b.begin(t)
	b.endpoint(t, address("hooks.example", port))
	lane := b.events(id.New(id.Mandate, b.clock.Now()), 6)
	want := make([]string, len(lane))
	for i, e := range lane {
		want[i] = e.ID
	}
	refuse.Store(true)
	store.deliveries.Store(true)
	b.insert(t, lane[:3])
	require.Eventually(t, func() bool { return store.failed.Load() == 1 }, time.Minute, time.Millisecond)
	refuse.Store(false)
	store.deliveries.Store(false)
	store.streams.Store(true)
	b.insert(t, lane[3:])
	require.Eventually(t, func() bool {
		b.clock.Advance(time.Second)
		return store.failed.Load() == 2
	}, time.Minute, 10*time.Millisecond)
	require.Empty(t, order)
	store.streams.Store(false)
	require.Eventually(t, func() bool {
		b.clock.Advance(time.Second)
		mu.Lock()
		defer mu.Unlock()
		return len(order) == len(want)
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, want, order)
}

// TestRotationWaitsForDeliveriesInFlight: what was signed with the previous secret alone has
// been answered when RotateSecret returns, also if the worker knew the new one before.
func TestRotationWaitsForDeliveriesInFlight(t *testing.T) {
	t.Parallel()
	here, release := make(chan struct{}), make(chan struct{})
	var first sync.Once
	port, _ := receiver(t, func(http.ResponseWriter, *http.Request) {
		first.Do(func() {
			close(here)
			<-release
		})
	})
	b := setup(t, func(string, int) []netip.Addr { return []netip.Addr{loopback} })
	b.Close()
	store := &failing{Store: b.cfg.Store}
	b.cfg.Store = store
	b.begin(t)
	e := b.endpoint(t, address("hooks.example", port))
	b.happen(t)
	<-here
	// Another instance rotates it first: this one reads the news.
	known, err := b.store.WebhookEndpoint(t.Context(), e.ID)
	require.NoError(t, err)
	require.NoError(t, b.store.RotateWebhookSecret(t.Context(), e.ID, known.Secret, known.Secret, b.clock.Now().Add(time.Hour)))
	require.Eventually(t, func() bool { return store.reads.Load() > 0 }, time.Minute, time.Millisecond, "the worker reads its endpoint again")
	var rotated atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		_, _, err := b.RotateSecret(t.Context(), merchant, e.ID)
		rotated.Store(true)
		if err != nil {
			t.Error(err)
		}
	})
	require.Never(t, rotated.Load, 300*time.Millisecond, 10*time.Millisecond, "a delivery is in flight")
	close(release)
	all.Wait()
}

// TestRetryAfterOutlastsADeliveryInFlight: one delivery is answered 429 with a Retry-After
// while another one is in flight, which then succeeds; the pause stays.
func TestRetryAfterOutlastsADeliveryInFlight(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var slow, full atomic.Value
	var third atomic.Bool
	port, taken := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("webhook-id") {
		case slow.Load():
			<-release
		case full.Load():
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			third.Store(true)
		}
	})
	b := setup(t, func(string, int) []netip.Addr { return []netip.Addr{loopback} })
	b.endpoint(t, address("hooks.example", port))
	var all []ledger.Event
	for range 3 {
		all = append(all, b.events(id.New(id.Mandate, b.clock.Now()), 1)...)
	}
	slow.Store(all[0].ID)
	full.Store(all[1].ID)
	b.insert(t, all[:1])
	require.Eventually(t, func() bool { return taken.Load() == 1 }, time.Minute, time.Millisecond)
	b.insert(t, all[1:2])
	b.came(t, all[1], 1)
	close(release)
	b.came(t, all[0], 1)
	b.insert(t, all[2:])
	require.Never(t, third.Load, 500*time.Millisecond, 10*time.Millisecond)
	full.Store("")
	b.clock.Advance(61 * time.Second)
	require.Eventually(t, third.Load, time.Minute, time.Millisecond)
}
