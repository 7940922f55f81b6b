// Package alarm limits how often an alarm is logged.
package alarm

import (
	"sync"
	"time"
)

// every is the least time between two logs of one alarm.
const every = time.Minute

// Limiter limits alarms by name. Its zero value is ready to use, and it is safe for
// concurrent use.
type Limiter struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// Due reports whether an alarm may be logged now, and counts it as logged.
func (l *Limiter) Due(name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, raised := l.last[name]; raised && now.Sub(at) < every {
		return false
	}
	if l.last == nil {
		l.last = map[string]time.Time{}
	}
	l.last[name] = now
	return true
}
