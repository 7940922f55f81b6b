package webhook

import (
	"context"
	"errors"
	"sync"
)

// errAborted is what others that wait see of a function that panicked.
var errAborted = errors.New("webhook: the function for this event panicked")

// seen remembers the latest events that were taken, and those being taken.
type seen struct {
	mu    sync.Mutex
	taken map[string]struct{}
	ring  []string // of taken, the oldest at next
	next  int
	now   map[string]*taking
}

// taking is an event on its way.
type taking struct {
	done chan struct{}
	err  error // once done
}

func newSeen(size int) *seen {
	return &seen{taken: map[string]struct{}{}, ring: make([]string, 0, min(size, 1024)), now: map[string]*taking{}, next: -size}
}

// do runs take for an event that was not taken before. Who comes while it runs
// waits and gets the same answer; an event that was not taken is tried again.
func (s *seen) do(ctx context.Context, id string, take func() error) error {
	s.mu.Lock()
	if _, ok := s.taken[id]; ok {
		s.mu.Unlock()
		return nil
	}
	if other, ok := s.now[id]; ok {
		s.mu.Unlock()
		select {
		case <-other.done:
			return other.err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	t := &taking{done: make(chan struct{}), err: errAborted}
	s.now[id] = t
	s.mu.Unlock()
	defer s.end(id, t) // also where take panics
	t.err = take()
	return t.err
}

func (s *seen) end(id string, t *taking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.now, id)
	if t.err == nil {
		s.remember(id)
	}
	close(t.done)
}

// remember keeps an id and forgets the oldest. While next is negative there is
// room: so many ids may still be added.
func (s *seen) remember(id string) {
	s.taken[id] = struct{}{}
	if s.next < 0 {
		s.ring = append(s.ring, id)
		s.next++
		return
	}
	delete(s.taken, s.ring[s.next])
	s.ring[s.next] = id
	s.next = (s.next + 1) % len(s.ring)
}
