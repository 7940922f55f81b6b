package paywall

import (
	"context"
	"crypto/sha256"
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
	entries map[digest]entry
	swept   time.Time
}

// digest stands for a key or binding: entries of one size, without pointers, are
// cheap to keep by the hundred thousand.
type digest = [sha256.Size]byte

type entry struct {
	state   ClaimState // Fresh means: claimed now, nothing settled yet
	claimed bool
	binding digest
	until   int64    // Unix milliseconds
	payment *Payment // with Paid
}

// NewMemory makes an empty one.
func NewMemory(c MemoryConfig) *Memory {
	m := &Memory{max: c.Max, clock: c.Clock, entries: map[digest]entry{}}
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
	key, binding := sha256.Sum256([]byte(c.Key)), sha256.Sum256([]byte(c.Binding))
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	e, ok := m.entries[key]
	if ok && e.over(now) {
		delete(m.entries, key)
		ok = false
	}
	if !ok {
		if !m.room(now) {
			return Claimed{}, ErrFull
		}
		m.entries[key] = entry{state: Fresh, claimed: true, binding: binding, until: c.Until.UnixMilli()}
		return Claimed{State: Fresh}, nil
	}
	switch {
	case e.claimed: // first: whether that one stands is not known yet
		return Claimed{State: Busy}, nil
	case e.binding != binding:
		return Claimed{State: BoundElsewhere}, nil
	case e.state == Spent:
		return Claimed{State: Spent}, nil
	}
	e.claimed = true
	m.entries[key] = e
	if e.payment != nil {
		return Claimed{State: e.state, Payment: *e.payment}, nil
	}
	return Claimed{State: e.state}, nil
}

// over tells whether the entry can be forgotten.
func (e entry) over(now time.Time) bool { return !e.claimed && now.UnixMilli() > e.until }

// room makes sure that one more fits.
func (m *Memory) room(now time.Time) bool {
	if full := len(m.entries) >= m.max; now.Sub(m.swept) >= sweepEvery || (full && now.Sub(m.swept) >= time.Second) {
		m.swept = now
		for key, e := range m.entries {
			if e.over(now) {
				delete(m.entries, key)
			}
		}
	}
	return len(m.entries) < m.max
}

// Settled implements [Redemptions]. An error where the key is not claimed.
func (m *Memory) Settled(_ context.Context, key string, p Payment) error {
	return m.change(key, "note settlement", func(e *entry) (keep bool) {
		e.state, e.payment = Paid, &p
		return true
	})
}

// Finish implements [Redemptions]. An error where the key is not claimed.
func (m *Memory) Finish(_ context.Context, key string, end End) error {
	return m.change(key, "finish redemption", func(e *entry) (keep bool) {
		e.claimed = false
		switch {
		case end == Served:
			e.state, e.payment = Spent, nil
		case end == Undecided && e.state != Paid:
			e.state = Retried
		}
		return end != Refused
	})
}

// change does something to a claimed entry, and forgets it unless it is kept.
func (m *Memory) change(key, doing string, f func(e *entry) (keep bool)) error {
	k := sha256.Sum256([]byte(key))
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[k]
	if !ok || !e.claimed {
		return fmt.Errorf("%s of %s: not claimed", doing, key)
	}
	if f(&e) {
		m.entries[k] = e
	} else {
		delete(m.entries, k)
	}
	return nil
}
