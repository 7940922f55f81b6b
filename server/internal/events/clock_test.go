package events_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/server/store"
)

// TestDeliveriesGoOnAfterTheClockWentBack: a sandbox whose clock was moved is restarted
// with the real time. Neither a lease, a pause nor a retry of the moved clock holds back
// the endpoint, whether it has new events or only old ones.
func TestDeliveriesGoOnAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	var works atomic.Bool
	port, taken := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if !works.Load() {
			w.WriteHeader(http.StatusTooManyRequests) // pauses the endpoint
		}
	})
	b := setup(t, only("127.0.0.1"))
	b.clock.Advance(30 * 24 * time.Hour)
	b.endpoint(t, address("shop.example", port))
	first := b.happen(t)
	b.came(t, first, 1)
	b.Close()
	works.Store(true)
	b.cfg.Clock = (&clock.Movable{}).Now
	b.begin(t)
	require.Equal(t, store.DeliveryDelivered, b.came(t, first, 2).Status)
	require.Equal(t, store.DeliveryDelivered, b.came(t, b.happen(t), 1).Status)
	require.EqualValues(t, 3, taken.Load())
}
