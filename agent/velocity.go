package agent

import (
	"fmt"
	"sync"
	"time"
)

// maxVelocity is how many payments are kept in a window.
const maxVelocity = 10_000

// spending counts what was spent in sliding windows.
type spending struct {
	clock   Clock
	limits  []Velocity
	longest time.Duration

	mu   sync.Mutex
	made []*spent // in order of time
}

type spent struct {
	at     time.Time
	micros int64
}

func newSpending(limits []Velocity, c Clock) *spending {
	s := &spending{clock: c, limits: limits}
	for _, v := range limits {
		s.longest = max(s.longest, v.Window)
	}
	return s
}

// reserve counts a payment, or refuses it: [ErrVelocity]. What is not sent after
// all is given back.
func (s *spending) reserve(micros int64) (giveBack func(), err error) {
	if len(s.limits) == 0 {
		return func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	for len(s.made) > 0 && now.Sub(s.made[0].at) >= s.longest {
		s.made = s.made[1:]
	}
	for _, v := range s.limits {
		if err := v.check(s.made, now, micros); err != nil {
			return nil, err
		}
	}
	if len(s.made) >= maxVelocity {
		return nil, fmt.Errorf("%w: %d payments", ErrVelocity, len(s.made))
	}
	one := &spent{at: now, micros: micros}
	s.made = append(s.made, one)
	return func() { s.drop(one) }, nil
}

func (v Velocity) check(made []*spent, now time.Time, micros int64) error {
	count, sum := 1, micros
	for _, m := range made {
		if now.Sub(m.at) < v.Window {
			count++
			sum += m.micros
		}
	}
	switch {
	case v.MaxMicros > 0 && sum > v.MaxMicros:
		return fmt.Errorf("%w: more than %s USD in %v", ErrVelocity, Offer{AmountMicros: v.MaxMicros}.Price(), v.Window)
	case v.MaxPayments > 0 && count > v.MaxPayments:
		return fmt.Errorf("%w: more than %d payments in %v", ErrVelocity, v.MaxPayments, v.Window)
	}
	return nil
}

func (s *spending) drop(one *spent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range s.made {
		if m == one {
			s.made = append(s.made[:i], s.made[i+1:]...)
			return
		}
	}
}
