package events_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/webhook"
)

// TestWhatComesAfterAFailureWaitsForItsRetry: the first of many events of a mandate
// fails so late that its retry is due at once, while the queue has read far beyond
// it. The others still come after it.
func TestWhatComesAfterAFailureWaitsForItsRetry(t *testing.T) {
	t.Parallel()
	const events = 2_500 // more than a queue has in memory, twice over
	var (
		mu            sync.Mutex
		order         []string
		here, release = make(chan struct{}), make(chan struct{})
		first         sync.Once
	)
	port, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		failed := false
		first.Do(func() {
			close(here)
			<-release
			failed = true
			w.WriteHeader(http.StatusInternalServerError)
		})
		if !failed {
			mu.Lock()
			order = append(order, r.Header.Get("webhook-id"))
			mu.Unlock()
		}
	})
	b := setup(t, func(string, int) []netip.Addr { return []netip.Addr{loopback} })
	b.endpoint(t, address("hooks.example", port))

	mandate := id.New(id.Mandate, b.clock.Now())
	all := make([]ledger.Event, events)
	want := make([]string, events)
	for i := range all {
		at := b.clock.Now().Truncate(time.Millisecond)
		all[i] = ledger.Event{
			ID: id.New(id.Event, at), MandateID: mandate, Seq: int64(i + 1), MerchantID: merchant, Type: webhook.PaymentSucceeded,
			Data: fmt.Appendf(nil, `{"n":%d}`, i), CreatedAt: at,
		}
		want[i] = all[i].ID
	}
	insert := func(list []ledger.Event) {
		require.NoError(t, b.store.Update(t.Context(), ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
			return ledger.Effects{Insert: ledger.Rows{Events: list}}, nil
		}))
		b.Poke()
	}
	insert(all[:1])
	<-here
	insert(all[1:])
	require.Eventually(t, func() bool {
		queued, err := b.store.EventDeliveries(t.Context(), all[events-1])
		return err == nil && len(queued) == 1
	}, time.Minute, time.Millisecond)
	b.clock.Advance(10 * time.Second)
	close(release)
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(order) == events
	}, 2*time.Minute, 10*time.Millisecond)
	require.Equal(t, want, order)
}
