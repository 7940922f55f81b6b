package events_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/internal/events"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// slowRelease is a store whose first read of the stream fails, and whose first release of
// an endpoint returns only after the endpoint was found to be due again.
type slowRelease struct {
	events.Store

	read, released, returned, early atomic.Bool

	found atomic.Int64
	again chan struct{} // closed when the released endpoint was found twice
}

func (s *slowRelease) StreamEvents(ctx context.Context, merchantID string, after int64, limit int) ([]ledger.Event, error) {
	if !s.read.Swap(true) {
		return nil, errors.New("the store is away")
	}
	return s.Store.StreamEvents(ctx, merchantID, after, limit)
}

func (s *slowRelease) ReleaseWebhookEndpoint(ctx context.Context, owner string, e store.WebhookEndpoint, now, wake time.Time) error {
	err := s.Store.ReleaseWebhookEndpoint(ctx, owner, e, now, wake)
	if !s.released.Swap(true) {
		select {
		case <-s.again:
		case <-ctx.Done():
		}
		s.returned.Store(true)
	}
	return err
}

func (s *slowRelease) LeaseWebhookEndpoints(ctx context.Context, owner string, ids []string, now, until time.Time) ([]store.WebhookEndpoint, error) {
	if len(ids) > 0 && s.released.Load() && !s.returned.Load() {
		s.early.Store(true)
	}
	return s.Store.LeaseWebhookEndpoints(ctx, owner, ids, now, until)
}

func (s *slowRelease) DueWebhookEndpoints(ctx context.Context, merchants []string, now time.Time, limit int) ([]string, error) {
	ids, err := s.Store.DueWebhookEndpoints(ctx, merchants, now, limit)
	if len(ids) > 0 && s.released.Load() && s.found.Add(1) == 2 {
		close(s.again)
	}
	return ids, err
}

// TestEndpointLeasedWhileItIsReleasedIsDeliveredTo: the endpoint is due again after its
// worker has released it and before that worker's goroutine has returned. It gets a new
// worker when that one has ended, and does not stand still until a lease expires.
func TestEndpointLeasedWhileItIsReleasedIsDeliveredTo(t *testing.T) {
	t.Parallel()
	port, taken := receiver(t, nil)
	b := setup(t, only("127.0.0.1"))
	b.Close()
	slow := &slowRelease{Store: b.store, again: make(chan struct{})}
	b.cfg.Store = slow
	b.begin(t)
	b.endpoint(t, address("shop.example", port))
	e := b.happen(t)
	select {
	case <-slow.again:
	case <-time.After(time.Minute):
		require.Fail(t, "the endpoint was not due again")
	}
	b.clock.Advance(6 * time.Second) // the pause after an error ends, and no lease does
	require.Eventually(t, func() bool { return taken.Load() == 1 }, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, store.DeliveryDelivered, b.came(t, e, 1).Status)
	require.False(t, slow.early.Load(), "no second worker while the first one runs")
}
