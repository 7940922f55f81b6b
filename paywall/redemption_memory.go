package paywall

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// DefaultMaxRedemptions is the default of [MemoryConfig.Max].
const DefaultMaxRedemptions = 100_000

// sweepEvery is how often expired entries are removed before the memory is full.
const sweepEvery = 15 * time.Second

// ErrFull reports that [Memory] is full of payments. Forgetting one could let it be served
// twice.
var ErrFull = errors.New("paywall: too many redemptions to remember")

// MemoryConfig configures a [Memory].
type MemoryConfig struct {
	// Max is the largest number of credentials that are remembered, in addition to those
	// of running requests. Default: [DefaultMaxRedemptions].
	Max int
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
}

// Memory keeps redemptions in memory. It forgets each when its validity window ends, and all
// of them when the process ends. It is safe for concurrent use.
//
// If it is full, it forgets claims whose payment is undecided, the oldest first. Only
// payments that were made can fill it.
type Memory struct {
	max   int
	clock func() time.Time
	scope string // makes settlement keys of two memories differ

	mu        sync.Mutex
	entries   map[digest]entry
	slots     map[digest][]digest // the keys of each slot that are not served, in the order of their claims
	paid      int                 // entries that were paid, served or not
	undecided []digest            // in the order in which they ended; may hold stale keys
	swept     time.Time
}

// digest is the hash of a key or binding. Entries of a fixed size without pointers cost
// little memory.
type digest = [sha256.Size]byte

type entry struct {
	state   ClaimState // ClaimFresh: claimed now, not settled yet
	claimed bool
	binding digest
	until   int64    // Unix milliseconds
	honored int64    // with ClaimUndecided and ClaimPaid: kept until then, if later
	payment *Payment // with ClaimPaid
	loose   *loose   // nil if the claim has no slot
}

// loose is how the next request of a slot finds an entry.
type loose struct {
	slot   digest
	repeat string
}

// NewMemory returns an empty Memory.
func NewMemory(c MemoryConfig) *Memory {
	m := &Memory{max: c.Max, clock: c.Clock, scope: randomText(), entries: map[digest]entry{}, slots: map[digest][]digest{}}
	if m.max <= 0 {
		m.max = DefaultMaxRedemptions
	}
	if m.clock == nil {
		m.clock = time.Now
	}
	return m
}

// Peek implements [Redemptions].
func (m *Memory) Peek(_ context.Context, c Claim) (Claimed, error) {
	key, binding := sha256.Sum256([]byte(c.Key)), sha256.Sum256([]byte(c.Binding))
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[key]
	if !ok || e.over(m.clock()) {
		return Claimed{State: ClaimFresh}, nil
	}
	return e.answer(binding), nil
}

// Claim implements [Redemptions]. It returns [ErrFull] if the memory is full.
func (m *Memory) Claim(_ context.Context, c Claim) (Claimed, error) {
	key, binding := sha256.Sum256([]byte(c.Key)), sha256.Sum256([]byte(c.Binding))
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	e, ok := m.entries[key]
	if ok && e.over(now) {
		m.drop(key)
		ok = false
	}
	if !ok {
		if !m.reserve(now) {
			return Claimed{}, ErrFull
		}
		e = entry{state: ClaimFresh, claimed: true, binding: binding, until: c.Until.UnixMilli()}
		if c.Slot != "" {
			e.loose = &loose{slot: sha256.Sum256([]byte(c.Slot)), repeat: c.Repeat}
			m.slots[e.loose.slot] = append(m.slots[e.loose.slot], key)
		}
		m.put(key, e)
		return Claimed{State: ClaimFresh}, nil
	}
	got := e.answer(binding)
	if got.State <= ClaimPaid {
		e.claimed, e.until = true, max(e.until, c.Until.UnixMilli())
		m.put(key, e)
	}
	return got, nil
}

// answer returns the state of the entry for a claim with this binding.
func (e entry) answer(binding digest) Claimed {
	switch {
	case e.claimed: // first, because the outcome of that claim is not known yet
		return Claimed{State: ClaimBusy}
	case e.binding != binding:
		return Claimed{State: ClaimBoundElsewhere}
	case e.payment != nil:
		return Claimed{State: e.state, Payment: *e.payment}
	}
	return Claimed{State: e.state}
}

// over reports whether the entry can be forgotten.
func (e entry) over(now time.Time) bool {
	until := e.until
	if e.state == ClaimUndecided || e.state == ClaimPaid {
		until = max(until, e.honored)
	}
	return !e.claimed && now.UnixMilli() > until
}

// wasPaid reports whether forgetting the entry could lose or repeat a payment.
func (e entry) wasPaid() bool { return e.state == ClaimPaid || e.state == ClaimServed }

func (m *Memory) put(key digest, e entry) {
	if m.entries[key].wasPaid() {
		m.paid--
	}
	if e.state == ClaimServed && e.loose != nil {
		m.leave(key, e.loose.slot)
		e.loose = nil
	}
	m.entries[key] = e
	if e.wasPaid() {
		m.paid++
	}
}

func (m *Memory) drop(key digest) {
	if m.entries[key].wasPaid() {
		m.paid--
	}
	if l := m.entries[key].loose; l != nil {
		m.leave(key, l.slot)
	}
	delete(m.entries, key)
}

// leave removes a key from its slot.
func (m *Memory) leave(key, slot digest) {
	keys := slices.DeleteFunc(m.slots[slot], func(k digest) bool { return k == key })
	if len(keys) == 0 {
		delete(m.slots, slot)
	} else {
		m.slots[slot] = keys
	}
}

// Unfinished implements [Redemptions].
func (m *Memory) Unfinished(_ context.Context, slot string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	for _, key := range m.slots[sha256.Sum256([]byte(slot))] {
		e := m.entries[key]
		resumes := e.state == ClaimUndecided || e.state == ClaimPaid && e.payment.resumes()
		if resumes && !e.claimed && !e.over(now) {
			return e.loose.repeat, nil
		}
	}
	return "", nil
}

// reserve frees space for one more entry, and reports whether it succeeded. Entries of running
// requests do not count, because the server's connections limit them.
func (m *Memory) reserve(now time.Time) bool {
	if full := len(m.entries) >= m.max; now.Sub(m.swept) >= sweepEvery || (full && now.Sub(m.swept) >= time.Second) {
		m.swept = now
		for key, e := range m.entries {
			if e.over(now) {
				m.drop(key)
			}
		}
	}
	for len(m.entries) >= m.max && m.evict() {
	}
	return m.paid < m.max
}

// evict forgets the oldest undecided claim, and reports whether there was one.
func (m *Memory) evict() bool {
	for len(m.undecided) > 0 {
		key := m.undecided[0]
		m.undecided = m.undecided[1:]
		if e, ok := m.entries[key]; ok && !e.claimed && e.state == ClaimUndecided {
			m.drop(key)
			return true
		}
	}
	return false
}

// Settled implements [Redemptions]. It returns an error if the key is not claimed.
func (m *Memory) Settled(_ context.Context, key string, p Payment) error {
	return m.change(key, "record settlement", func(_ digest, e *entry) (keep bool) {
		e.state, e.payment = ClaimPaid, &p
		e.honored = p.honoredUntil(m.clock()).UnixMilli()
		return true
	})
}

// Finish implements [Redemptions]. It returns an error if the key is not claimed.
func (m *Memory) Finish(_ context.Context, key string, end End) error {
	return m.change(key, "finish redemption", func(k digest, e *entry) (keep bool) {
		e.claimed = false
		switch {
		case end == EndServed:
			e.state, e.payment = ClaimServed, nil
		case end == EndUndecided && e.state != ClaimPaid:
			e.state, e.honored = ClaimUndecided, m.clock().Add(HonoredFor).UnixMilli()
			m.remember(k)
		}
		return end != EndRefused
	})
}

// remember appends to the queue of undecided claims, and removes stale keys if the queue is
// long.
func (m *Memory) remember(key digest) {
	if len(m.undecided) >= 2*m.max {
		kept := make([]digest, 0, m.max)
		seen := make(map[digest]bool, m.max)
		for _, k := range m.undecided {
			if e, ok := m.entries[k]; ok && e.state == ClaimUndecided && !seen[k] {
				seen[k] = true
				kept = append(kept, k)
			}
		}
		m.undecided = kept
	}
	m.undecided = append(m.undecided, key)
}

// change updates a claimed entry, and removes it unless f returns true.
func (m *Memory) change(key, doing string, f func(k digest, e *entry) (keep bool)) error {
	k := sha256.Sum256([]byte(key))
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.entries[k]
	if !ok || !e.claimed {
		return fmt.Errorf("%s of %s: not claimed", doing, key)
	}
	if f(k, &e) {
		m.put(k, e)
	} else {
		m.drop(k)
	}
	return nil
}

var _ Redemptions = (*Memory)(nil)
