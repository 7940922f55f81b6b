package events

import (
	"sync"
	"sync/atomic"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// kept is how many of a merchant's latest events are in memory.
const kept = 64

// feed is the end of a merchant's stream, for the endpoints that are worked on here:
// what has happened here they need not read from the store, each for itself.
type feed struct {
	queues map[*queue]bool // who is told; the service's mutex holds for it
	end    atomic.Int64    // of the stream, as far as is known

	mu     sync.Mutex
	latest [kept]ledger.Event // each at its place, modulo kept
}

// add keeps an event.
func (f *feed) add(e ledger.Event) {
	f.mu.Lock()
	if at := &f.latest[e.Place%kept]; at.Place < e.Place {
		*at = e
	}
	f.mu.Unlock()
	f.reached(e.Place)
}

// reached tells that the stream is so long by now.
func (f *feed) reached(end int64) {
	for {
		known := f.end.Load()
		if end <= known {
			return
		}
		if f.end.CompareAndSwap(known, end) {
			break
		}
	}
	for q := range f.queues {
		signal(q.signal)
	}
}

// after lists what comes after a place, up to the first event that is not in memory.
func (f *feed) after(place int64, limit int) (list []ledger.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for place++; len(list) < limit && f.latest[place%kept].Place == place; place++ {
		list = append(list, f.latest[place%kept])
	}
	return list
}

// Happened tells of events that are in the store by now.
func (s *Service) Happened(events []ledger.Event) {
	for _, e := range events {
		s.Telemetry.Happened(string(e.Type))
	}
	s.mu.Lock()
	for _, e := range events {
		s.grown[e.MerchantID] = true
		for waiter := range s.waiters[e.MerchantID] {
			signal(waiter)
		}
		if f := s.feeds[e.MerchantID]; f != nil {
			f.add(e)
		}
	}
	s.mu.Unlock()
	s.Poke()
}

// join has a queue told of its merchant's events. The service's mutex is held.
func (s *Service) join(q *queue) *feed {
	f := s.feeds[q.endpoint.MerchantID]
	if f == nil {
		f = &feed{queues: map[*queue]bool{}}
		s.feeds[q.endpoint.MerchantID] = f
	}
	f.queues[q] = true
	return f
}

// leave ends that.
func (s *Service) leave(q *queue) {
	if delete(q.feed.queues, q); len(q.feed.queues) == 0 {
		delete(s.feeds, q.endpoint.MerchantID)
	}
}
