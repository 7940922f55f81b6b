// Package clock is a clock that can be moved forward: time passes as usual, plus an offset
// that [Movable.Advance] increases.
package clock

import (
	"sync/atomic"
	"time"
)

// Last is the latest time that a clock can be moved to.
var Last = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// Movable is a clock that can run ahead of the system's. The zero value shows the system's
// time. It is safe for concurrent use.
type Movable struct{ ahead atomic.Int64 }

// Now returns the system's time plus the offset.
func (m *Movable) Now() time.Time { return time.Now().Add(time.Duration(m.ahead.Load())) }

// Advance moves the clock forward, up to [Last], or back by a negative duration, to at most
// a century before the system's time. The sum of all calls stays within these limits.
func (m *Movable) Advance(d time.Duration) {
	now := time.Now()
	most := max(Last.Sub(now), 0)
	for {
		ahead := time.Duration(m.ahead.Load())
		moved := ahead + d
		switch {
		case d > 0 && (moved < ahead || moved > most): // moved < ahead: the sum overflowed
			moved = max(most, ahead)
		case d < 0 && (moved > ahead || moved < -century):
			moved = min(-century, ahead)
		}
		if m.ahead.CompareAndSwap(int64(ahead), int64(moved)) {
			return
		}
	}
}

const century = 100 * 365 * 24 * time.Hour
