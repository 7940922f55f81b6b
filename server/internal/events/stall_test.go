package events_test

import (
	"context"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/internal/events"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/postgres"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// stalling is the store of an instance that stalls when it is about to save deliveries, with
// all its work, until it is resumed.
type stalling struct {
	events.Store

	stalled       atomic.Bool
	here, resumed chan struct{}
	refused       chan error // what the late save returned
}

func (s *stalling) wait() {
	if s.stalled.Load() {
		<-s.resumed
	}
}

func (s *stalling) SaveDeliveries(ctx context.Context, owner string, all []store.Delivery) error {
	first := s.stalled.CompareAndSwap(false, true)
	if first {
		close(s.here)
	}
	s.wait()
	err := s.Store.SaveDeliveries(ctx, owner, all)
	if first {
		s.refused <- err
	}
	return err
}

func (s *stalling) SaveEndpoints(ctx context.Context, owner string, states []store.EndpointState) error {
	s.wait()
	return s.Store.SaveEndpoints(ctx, owner, states)
}

func (s *stalling) ExtendWebhookLeases(ctx context.Context, owner string, ids []string, until time.Time) ([]string, error) {
	s.wait()
	return s.Store.ExtendWebhookLeases(ctx, owner, ids, until)
}

func (s *stalling) WebhookNews(ctx context.Context, owner string) (map[string]store.EndpointNews, error) {
	s.wait()
	return s.Store.WebhookNews(ctx, owner)
}

func (s *stalling) LeaseWebhookEndpoints(ctx context.Context, owner string, ids []string, now, until time.Time) ([]store.WebhookEndpoint, error) {
	s.wait()
	return s.Store.LeaseWebhookEndpoints(ctx, owner, ids, now, until)
}

// TestStalledInstanceSavesNothingAfterItsSuccessor: an instance stalls between an attempt and
// saving its outcome until its lease has ended. Another instance takes the endpoint over and
// delivers. The first one then saves nothing, sends nothing more, and ends its work on the
// endpoint.
func TestStalledInstanceSavesNothingAfterItsSuccessor(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) (store.Store, error){
		"sqlite": func(t *testing.T) (store.Store, error) {
			return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
		},
		"postgres": func(t *testing.T) (store.Store, error) { return postgres.Open(t.Context(), pgtest.Schema(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := open(t)
			require.NoError(t, err)
			stall(t, db)
		})
	}
}

func stall(t *testing.T, db store.Store) {
	t.Helper()
	var mu sync.Mutex
	var order []string
	port, taken := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if order = append(order, r.Header.Get("webhook-id")); len(order) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	b := setupOn(t, db, only("127.0.0.1"))
	b.Close()
	stalled := &stalling{Store: db, here: make(chan struct{}), resumed: make(chan struct{}), refused: make(chan error, 1)}
	resume := sync.OnceFunc(func() { close(stalled.resumed) })
	b.cfg.Store = stalled
	b.begin(t)
	first := b.Service
	t.Cleanup(func() { resume(); first.Close() })
	e := b.endpoint(t, address("hooks.example", port))
	lane := b.events(id.New(id.Mandate, b.clock.Now()), 3)
	b.insert(t, lane)
	<-stalled.here

	b.clock.Advance(31 * time.Second)
	b.cfg.Store = db
	b.begin(t)
	for _, event := range lane {
		require.Eventually(t, func() bool {
			all, err := b.Deliveries(t.Context(), merchant, event.ID)
			return err == nil && len(all) == 1 && all[0].Status == store.DeliveryDelivered
		}, time.Minute, 5*time.Millisecond)
	}
	before, err := db.WebhookEndpoint(t.Context(), e.ID)
	require.NoError(t, err)
	resume()
	require.ErrorIs(t, <-stalled.refused, store.ErrLeaseLost)
	require.Eventually(t, func() bool { return first.Busy() == 0 }, 10*time.Second, time.Millisecond)
	require.Equal(t, 1, b.Busy())

	b.clock.Advance(10 * time.Second) // the retry of the first attempt would be due
	require.Never(t, func() bool { return taken.Load() > 4 }, 500*time.Millisecond, 10*time.Millisecond)
	for _, status := range []store.DeliveryStatus{store.DeliveryPending, store.DeliveryFailed, store.DeliveryDelivered} {
		saved, err := db.Deliveries(t.Context(), e.ID, status, 10)
		require.NoError(t, err)
		require.Empty(t, saved, status)
	}
	after, err := db.WebhookEndpoint(t.Context(), e.ID)
	require.NoError(t, err)
	require.Equal(t, before, after)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{lane[0].ID, lane[0].ID, lane[1].ID, lane[2].ID}, order)
}
