// Package clock is a clock that can be moved forward: time passes as usual, from an
// offset that [Movable.Advance] adds to.
package clock

import (
	"sync/atomic"
	"time"
)

// Last is the time that no clock is moved past.
var Last = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)

// Movable is a clock that can run ahead of the system's. The zero value shows the
// system's time. It is safe for concurrent use.
type Movable struct{ ahead atomic.Int64 }

// Now returns the time with the offset.
func (m *Movable) Now() time.Time { return time.Now().Add(time.Duration(m.ahead.Load())) }

// Advance moves the clock forward, up to [Last]; by a negative duration, back, at most
// to the system's time a century ago. However often it is called, the sum of what it
// was moved by stays within these bounds.
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
