package paywall

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// DefaultMaxUnserved is the default of [Config.MaxUnserved].
	DefaultMaxUnserved = 5
	// UnservedWindow is the time for which a refund counts toward [Config.MaxUnserved].
	UnservedWindow = 10 * time.Minute
	// maxBraked is the number of mandates whose refunds are remembered, at least.
	maxBraked = 10_000
)

// brake stops the payments of a mandate that were refunded too often, because nothing was
// served. Each payment and refund costs fees, or gas, and a refund on the chain does not free
// the mandate's month.
type brake struct {
	most  int // negative: no limit
	clock func() time.Time

	mu         sync.Mutex
	young, old map[string][]time.Time // the refunds of a mandate within the window, oldest first
}

// newBrake returns the brake of a configuration.
func newBrake(c Config) *brake {
	return &brake{most: c.MaxUnserved, clock: c.Clock}
}

// refunded counts a refund of a mandate.
func (b *brake) refunded(mandateID string) {
	if b.most < 0 || mandateID == "" {
		return
	}
	now := b.clock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(mandateID, append(b.within(mandateID, now), now))
}

// wait returns the time until the next payment of a mandate is taken; zero: it is taken now.
func (b *brake) wait(mandateID string) time.Duration {
	if b.most < 0 || mandateID == "" {
		return 0
	}
	now := b.clock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.young)+len(b.old) == 0 {
		return 0
	}
	times := b.within(mandateID, now)
	if len(times) < b.most {
		return 0
	}
	return times[len(times)-b.most].Add(UnservedWindow).Sub(now)
}

// within returns the refunds of a mandate that still count. The caller holds the lock.
func (b *brake) within(mandateID string, now time.Time) []time.Time {
	times, ok := b.young[mandateID]
	if !ok {
		times = b.old[mandateID]
	}
	for len(times) > 0 && now.Sub(times[0]) >= UnservedWindow {
		times = times[1:]
	}
	return times
}

// set stores the last refunds of a mandate. The caller holds the lock.
func (b *brake) set(mandateID string, times []time.Time) {
	if b.young == nil || len(b.young) >= maxBraked {
		b.young, b.old = map[string][]time.Time{}, b.young
	}
	b.young[mandateID] = times[max(0, len(times)-b.most):]
}

// braked returns the refusal of a payment whose mandate is stopped, or nil.
func (h *hold) braked() *refusal {
	if h.refunder == nil {
		return nil
	}
	wait := h.brake.wait(h.mandateID)
	if wait <= 0 {
		return nil
	}
	return &refusal{
		status: http.StatusServiceUnavailable, code: codeUnavailable, wait: wait, unsent: true,
		message: fmt.Sprintf("The last %d payments of this mandate were given back, because their requests were not served. Nothing was taken. Try again later.", h.brake.most),
	}
}
