// Package clock is a clock that can be moved forward: time goes on as ever, from
// an offset that [Movable.Advance] adds to.
package clock

import (
	"sync/atomic"
	"time"
)

// System tells the system's time.
type System struct{}

// Now is the time.
func (System) Now() time.Time { return time.Now() }

// Movable is a clock that runs ahead of the system's. The zero value does not yet.
type Movable struct{ ahead atomic.Int64 }

// Now is the time with the offset.
func (m *Movable) Now() time.Time { return time.Now().Add(time.Duration(m.ahead.Load())) }

// Advance moves the clock forward; by a negative duration, back.
func (m *Movable) Advance(d time.Duration) { m.ahead.Add(int64(d)) }
