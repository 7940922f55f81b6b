package paywall

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// DefaultMaxRedemptions is how many credentials [Memory] remembers.
const DefaultMaxRedemptions = 100_000

// sweepEvery is how often what can be forgotten is looked for, unless there is no room.
const sweepEvery = 15 * time.Second

// ErrFull is what [Memory] answers where it remembers as many credentials as it
// may: forgetting one that is still good would let it be served twice.
var ErrFull = errors.New("too many redemptions to remember")

// MemoryConfig bounds a [Memory].
type MemoryConfig struct {
	// Max is how many credentials are remembered. Default: [DefaultMaxRedemptions].
	Max int
	// Clock tells the time. Default: the system's.
	Clock Clock
}

// Memory keeps redemptions in this process. It forgets them when their window
// is over, and all of them when the process ends.
type Memory struct {
	max   int
	clock Clock

	mu      sync.Mutex
	entries map[string]*entry
	swept   time.Time
}

type entry struct {
	state   ClaimState // Fresh means: claimed now, nothing settled yet
	claimed bool
	binding string
	payment Payment
	until   time.Time
}

// NewMemory makes an empty one.
func NewMemory(c MemoryConfig) *Memory {
	m := &Memory{max: c.Max, clock: c.Clock, entries: map[string]*entry{}}
	if m.max <= 0 {
		m.max = DefaultMaxRedemptions
	}
	if m.clock == nil {
		m.clock = systemClock{}
	}
	return m
}

// Claim implements [Redemptions]. [ErrFull] where there is no room.
func (m *Memory) Claim(_ context.Context, c Claim) (Claimed, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	e, ok := m.entries[c.Key]
	if ok && !e.claimed && now.After(e.until) {
		delete(m.entries, c.Key)
		ok = false
	}
	if !ok {
		if !m.room(now) {
			return Claimed{}, ErrFull
		}
		m.entries[c.Key] = &entry{state: Fresh, claimed: true, binding: c.Binding, until: c.Until}
		return Claimed{State: Fresh}, nil
	}
	switch {
	case e.claimed: // first: whether that one stands is not known yet
		return Claimed{State: Busy}, nil
	case e.binding != c.Binding:
		return Claimed{State: BoundElsewhere}, nil
	case e.state == Spent:
		return Claimed{State: Spent}, nil
	}
	e.claimed = true
	return Claimed{State: e.state, Payment: e.payment}, nil
}

// room makes sure that one more fits.
func (m *Memory) room(now time.Time) bool {
	if full := len(m.entries) >= m.max; now.Sub(m.swept) >= sweepEvery || (full && now.Sub(m.swept) >= time.Second) {
		m.swept = now
		for key, e := range m.entries {
			if !e.claimed && now.After(e.until) {
				delete(m.entries, key)
			}
		}
	}
	return len(m.entries) < m.max
}

// Settled implements [Redemptions]. An error where the key is not claimed.
func (m *Memory) Settled(_ context.Context, key string, p Payment) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	if !ok || !e.claimed {
		return fmt.Errorf("note settlement of %s: not claimed", key)
	}
	e.state, e.payment = Paid, p
	return nil
}

// Finish implements [Redemptions]. An error where the key is not claimed.
func (m *Memory) Finish(_ context.Context, key string, end End) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	if !ok || !e.claimed {
		return fmt.Errorf("finish redemption of %s: not claimed", key)
	}
	e.claimed = false
	switch end {
	case Refused:
		delete(m.entries, key)
	case Undecided:
		if e.state != Paid {
			e.state = Retried
		}
	case Unserved:
		e.state = Paid
	case Served:
		e.state, e.payment = Spent, Payment{}
	}
	return nil
}
