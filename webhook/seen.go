package webhook

import (
	"context"
	"errors"
	"sync"
)

// errPanicked is the result of concurrent deliveries of an event whose function panicked.
var errPanicked = errors.New("webhook: the function for this event panicked")

// seen remembers the latest events that were handled, and those that are being handled.
type seen struct {
	mu      sync.Mutex
	handled map[string]struct{}
	ring    []string // the ids in handled; the oldest is at next
	next    int      // negative: the ring can still grow by that many
	running map[string]*call
}

// call is a running function for an event.
type call struct {
	done chan struct{}
	err  error // valid after done is closed
}

func newSeen(size int) *seen {
	return &seen{handled: map[string]struct{}{}, ring: make([]string, 0, min(size, 1024)), running: map[string]*call{}, next: -size}
}

// do calls f unless the event was handled before. Concurrent calls for one event wait for
// the first and return its result. An event whose function failed is handled again.
func (s *seen) do(ctx context.Context, id string, f func() error) error {
	s.mu.Lock()
	if _, ok := s.handled[id]; ok {
		s.mu.Unlock()
		return nil
	}
	if other, ok := s.running[id]; ok {
		s.mu.Unlock()
		select {
		case <-other.done:
			return other.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	c := &call{done: make(chan struct{}), err: errPanicked}
	s.running[id] = c
	s.mu.Unlock()
	defer s.end(id, c) // also if f panics
	c.err = f()
	return c.err
}

func (s *seen) end(id string, c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, id)
	if c.err == nil {
		s.remember(id)
	}
	close(c.done)
}

// remember adds an id, and forgets the oldest if the ring is full.
func (s *seen) remember(id string) {
	s.handled[id] = struct{}{}
	if s.next < 0 {
		s.ring = append(s.ring, id)
		s.next++
		return
	}
	delete(s.handled, s.ring[s.next])
	s.ring[s.next] = id
	s.next = (s.next + 1) % len(s.ring)
}
