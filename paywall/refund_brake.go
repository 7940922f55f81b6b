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
	// maxBraked is the number of payers whose payments are remembered, at least.
	maxBraked = 10_000
)

// brake stops a payer whose payments were made for nothing too often within [UnservedWindow]: they
// were refunded because nothing was served, or what was metered was not paid. Each payment and
// refund costs fees, or gas, and each request costs work.
type brake struct {
	most  int // negative: no limit
	clock func() time.Time

	mu         sync.Mutex
	young, old map[string][]time.Time // the events of a payer within the window, oldest first
}

// newBrake returns the brake of a configuration.
func newBrake(c Config) *brake {
	return &brake{most: c.MaxUnserved, clock: c.Clock}
}

// count counts a payment of a payer that was made for nothing.
func (b *brake) count(payer string) {
	if b.most < 0 || payer == "" {
		return
	}
	now := b.clock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(payer, append(b.within(payer, now), now))
}

// forget removes what was counted of a payer.
func (b *brake) forget(payer string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.young, payer)
	delete(b.old, payer)
}

// wait returns the time until the next payment of a payer is taken; zero: it is taken now.
func (b *brake) wait(payer string) time.Duration {
	if b.most < 0 || payer == "" {
		return 0
	}
	now := b.clock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.young)+len(b.old) == 0 {
		return 0
	}
	times := b.within(payer, now)
	if len(times) < b.most {
		return 0
	}
	return times[len(times)-b.most].Add(UnservedWindow).Sub(now)
}

// within returns the events of a payer that still count. The caller holds the lock.
func (b *brake) within(payer string, now time.Time) []time.Time {
	times, ok := b.young[payer]
	if !ok {
		times = b.old[payer]
	}
	for len(times) > 0 && now.Sub(times[0]) >= UnservedWindow {
		times = times[1:]
	}
	return times
}

// set stores the last events of a payer. The caller holds the lock.
func (b *brake) set(payer string, times []time.Time) {
	if b.young == nil || len(b.young) >= maxBraked {
		b.young, b.old = map[string][]time.Time{}, b.young
	}
	b.young[payer] = times[max(0, len(times)-b.most):]
}

// braked returns the refusal of a payment whose mandate or wallet is stopped, or nil.
func (h *hold) braked() *refusal {
	if no := h.stopped(h.debtor()); no != nil {
		return no
	}
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
