package events_test

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
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

	all := b.events(id.New(id.Mandate, b.clock.Now()), events)
	want := make([]string, events)
	for i, e := range all {
		want[i] = e.ID
	}
	b.insert(t, all[:1])
	<-here
	b.insert(t, all[1:])
	require.Eventually(t, func() bool {
		last, err := b.store.Event(t.Context(), all[events-1].ID)
		return err == nil && last.StreamOffset > 0
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

// TestWhatHangsHoldsBackNobody: while one delivery gets no answer, more events of
// other mandates than a queue has in memory are delivered, and a restart would not
// send them again.
func TestWhatHangsHoldsBackNobody(t *testing.T) {
	t.Parallel()
	const others = 1_500
	release := make(chan struct{})
	var hangs atomic.Bool
	port, taken := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		if hangs.CompareAndSwap(false, true) {
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
	})
	b := setup(t, func(string, int) []netip.Addr { return []netip.Addr{loopback} })
	t.Cleanup(func() { close(release) })
	e := b.endpoint(t, address("hooks.example", port))
	var all []ledger.Event
	for range others + 1 {
		all = append(all, b.events(id.New(id.Mandate, b.clock.Now()), 1)...)
	}
	b.insert(t, all)
	require.Eventually(t, func() bool { return taken.Load() > others }, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		e, err := b.store.WebhookEndpoint(t.Context(), e.ID)
		return err == nil && e.Offset == others+1
	}, time.Minute, 10*time.Millisecond)
	waiting, err := b.store.Deliveries(t.Context(), e.ID, store.DeliveryPending, 10)
	require.NoError(t, err)
	require.LessOrEqual(t, len(waiting), 1)
}

// TestWhatCameWhileOneHungStaysBehindIt: the first event of a mandate hangs while a window
// of others is delivered, so that its lane is stored; more of the mandate follow, and then
// the service is started again.
func TestWhatCameWhileOneHungStaysBehindIt(t *testing.T) {
	t.Parallel()
	var (
		mu    sync.Mutex
		order []string
		well  atomic.Bool
	)
	all := make(map[string]string) // event -> mandate
	var hung string
	port, taken := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		key := r.Header.Get("webhook-id")
		hangs := all[key] == hung && !well.Load()
		if !hangs && all[key] == hung {
			order = append(order, key)
		}
		mu.Unlock()
		if hangs {
			_, _ = io.Copy(io.Discard, r.Body) // until then the end of the request is not noticed
			<-r.Context().Done()
		}
	})
	b := setup(t, func(string, int) []netip.Addr { return []netip.Addr{loopback} })
	e := b.endpoint(t, address("hooks.example", port))
	lane, other := b.events(id.New(id.Mandate, b.clock.Now()), 9), b.events(id.New(id.Mandate, b.clock.Now()), 300)
	want := make([]string, len(lane))
	mu.Lock()
	hung = lane[0].MandateID
	for i, e := range lane {
		all[e.ID], want[i] = hung, e.ID
	}
	mu.Unlock()
	b.insert(t, append(lane[:3:3], other...))
	require.Eventually(t, func() bool { return taken.Load() > 200 }, time.Minute, time.Millisecond)
	stored := func(n int) func() bool {
		return func() bool {
			list, err := b.store.Deliveries(t.Context(), e.ID, store.DeliveryPending, 10)
			return err == nil && len(list) >= n
		}
	}
	require.Eventually(t, stored(3), time.Minute, time.Millisecond)
	b.insert(t, lane[3:])
	require.Eventually(t, stored(9), time.Minute, time.Millisecond)
	b.Close()
	well.Store(true)
	b.begin(t)
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(order) == len(want)
	}, time.Minute, time.Millisecond)
	require.Equal(t, want, order)
}

// TestAPauseStoresAMandateFromItsBeginning: a receiver that asks for a pause while the
// first event of a mandate is on its way; the second is not stored without it, or an
// instance that is killed then would have another one send it first.
func TestAPauseStoresAMandateFromItsBeginning(t *testing.T) {
	t.Parallel()
	var hangs, full atomic.Value
	port, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch r.Header.Get("webhook-id") {
		case hangs.Load():
			<-r.Context().Done()
		case full.Load():
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	b := setup(t, func(string, int) []netip.Addr { return []netip.Addr{loopback} })
	e := b.endpoint(t, address("hooks.example", port))
	one, other := b.events(id.New(id.Mandate, b.clock.Now()), 2), b.events(id.New(id.Mandate, b.clock.Now().Add(time.Second)), 1)
	other[0].CreatedAt = one[1].CreatedAt.Add(time.Second) // the last of the stream
	hangs.Store(one[0].ID)
	full.Store(other[0].ID)
	b.insert(t, append(one, other...))
	require.Eventually(t, func() bool {
		list, err := b.store.Deliveries(t.Context(), e.ID, store.DeliveryPending, 10)
		require.NoError(t, err)
		stored := map[string]bool{}
		for _, d := range list {
			stored[d.EventID] = true
		}
		require.False(t, stored[one[1].ID] && !stored[one[0].ID])
		return stored[one[1].ID]
	}, time.Minute, time.Millisecond)
}

// TestWhateverTheReceiverDoes: one that fails at random, asks to be left alone and
// hangs up receives everything in the end, each mandate's events in their order, and
// the store knows it.
func TestWhateverTheReceiverDoes(t *testing.T) {
	t.Parallel()
	const mandates, each = 5, 60
	var (
		mu     sync.Mutex
		random = rand.New(rand.NewPCG(1, 2)) // repeatable
		took   = map[string]bool{}
		order  []string
	)
	port, _ := receiver(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch n := random.IntN(100); {
		case n < 3:
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
		case n < 5:
			panic(http.ErrAbortHandler)
		case n < 10:
			w.WriteHeader(http.StatusInternalServerError)
		default:
			if key := r.Header.Get("webhook-id"); !took[key] {
				took[key] = true
				order = append(order, key)
			}
		}
	})
	b := setup(t, func(string, int) []netip.Addr { return []netip.Addr{loopback} })
	e := b.endpoint(t, address("hooks.example", port))
	place := map[string]ledger.Event{}
	var lists [][]ledger.Event
	for range mandates {
		list := b.events(id.New(id.Mandate, b.clock.Now()), each)
		for _, e := range list {
			place[e.ID] = e
		}
		lists = append(lists, list)
	}
	for n := range each {
		var round []ledger.Event
		for _, list := range lists {
			round = append(round, list[n])
		}
		b.insert(t, round)
	}
	require.Eventually(t, func() bool {
		b.clock.Advance(5 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		return len(order) == mandates*each
	}, 3*time.Minute, 20*time.Millisecond)
	last := map[string]int64{}
	for _, key := range order {
		at := place[key]
		require.Equal(t, last[at.MandateID]+1, at.Seq)
		last[at.MandateID] = at.Seq
	}
	b.Close()
	e, err := b.store.WebhookEndpoint(t.Context(), e.ID)
	require.NoError(t, err)
	require.EqualValues(t, mandates*each, e.Offset)
	waiting, err := b.store.Deliveries(t.Context(), e.ID, store.DeliveryPending, 10)
	require.NoError(t, err)
	require.Empty(t, waiting)
}

// TestWhatWaitedForOneThatIsSentAgainGoesOn: the first event of a mandate fails, and is
// sent again by hand before its retry is due; what waits behind it, and what comes
// later, is not held back any more.
func TestWhatWaitedForOneThatIsSentAgainGoesOn(t *testing.T) {
	t.Parallel()
	var fails atomic.Bool
	fails.Store(true)
	port, taken := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if fails.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	b := setup(t, func(string, int) []netip.Addr { return []netip.Addr{loopback} })
	e := b.endpoint(t, address("hooks.example", port))
	lane := b.events(id.New(id.Mandate, b.clock.Now()), 4)
	b.insert(t, lane[:1])
	require.Equal(t, store.DeliveryPending, b.came(t, lane[0], 1).Status)
	fails.Store(false)
	b.insert(t, lane[1:3])
	require.Eventually(t, func() bool {
		list, err := b.store.Deliveries(t.Context(), e.ID, store.DeliveryPending, 10)
		return err == nil && len(list) == 3
	}, time.Minute, time.Millisecond)
	n, err := b.Redeliver(t.Context(), merchant, lane[0].ID)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	b.insert(t, lane[3:])
	for _, e := range lane {
		require.Eventually(t, func() bool {
			return b.came(t, e, 1).Status == store.DeliveryDelivered
		}, time.Minute, time.Millisecond)
	}
	require.EqualValues(t, 5, taken.Load())
}

// TestWhatNobodyToldIsFound: events of an instance that was killed after the commit, or
// that works beside this one, at an endpoint without a worker and then at one that
// this instance works on; and some that this instance notices in another order.
func TestWhatNobodyToldIsFound(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var order []string
	port, _ := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		order = append(order, r.Header.Get("webhook-id"))
		mu.Unlock()
	})
	b := setup(t, func(string, int) []netip.Addr { return []netip.Addr{loopback} })
	b.endpoint(t, address("hooks.example", port))
	lane := b.events(id.New(id.Mandate, b.clock.Now()), 8)
	want := make([]string, len(lane))
	for i, e := range lane {
		want[i] = e.ID
	}
	b.commit(t, lane[:2])
	b.came(t, lane[1], 1)
	b.commit(t, lane[2:3])
	b.came(t, lane[2], 1)
	for i := 3; i < len(lane); i++ {
		b.commit(t, lane[i:i+1])
	}
	for _, i := range []int{7, 4, 6} { // 3 and 5 are another instance's
		b.Happened(lane[i : i+1])
	}
	b.came(t, lane[7], 1)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, want, order)
}
