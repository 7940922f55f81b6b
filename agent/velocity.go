package agent

import (
	"fmt"
	"sync"
	"time"
)

// maxVelocityPayments is the maximum number of payments in a window.
const maxVelocityPayments = 10_000

// spending counts what was spent, in total and in sliding windows.
type spending struct {
	clock   func() time.Time
	budget  int64 // 0: no limit
	limits  []VelocityLimit
	longest time.Duration

	mu    sync.Mutex
	total int64
	made  []*expense // in order of time; empty without limits
}

type expense struct {
	at     time.Time
	micros int64
}

func newSpending(c Config) *spending {
	s := &spending{clock: c.Clock, budget: c.BudgetMicros, limits: c.VelocityLimits}
	for _, v := range s.limits {
		s.longest = max(s.longest, v.Window)
	}
	return s
}

// reserve counts a payment, or refuses it with [ErrBudget] or [ErrVelocity]. The returned
// function releases a payment that was not sent.
func (s *spending) reserve(micros int64) (giveBack func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.budget > 0 && micros > s.budget-s.total {
		return nil, fmt.Errorf("%w: %s of the agent's %s USD are left", ErrBudget, usd(s.budget-s.total), usd(s.budget))
	}
	one := &expense{at: s.clock(), micros: micros}
	if len(s.limits) > 0 {
		if err := s.checkWindows(one.at, micros); err != nil {
			return nil, err
		}
		s.made = append(s.made, one)
	}
	if s.budget > 0 {
		s.total += micros
	}
	return func() { s.drop(one) }, nil
}

func (s *spending) checkWindows(now time.Time, micros int64) error {
	for len(s.made) > 0 && now.Sub(s.made[0].at) >= s.longest {
		s.made = s.made[1:]
	}
	for _, v := range s.limits {
		if err := v.check(s.made, now, micros); err != nil {
			return err
		}
	}
	if len(s.made) >= maxVelocityPayments {
		return fmt.Errorf("%w: %d payments", ErrVelocity, len(s.made))
	}
	return nil
}

func (v VelocityLimit) check(made []*expense, now time.Time, micros int64) error {
	count, sum := 1, micros
	for _, m := range made {
		if now.Sub(m.at) < v.Window {
			count++
			sum += m.micros
		}
	}
	return v.allows(count, sum)
}

// allows checks the number and the sum of the payments in the window.
func (v VelocityLimit) allows(count int, sum int64) error {
	switch {
	case v.MaxMicros > 0 && sum > v.MaxMicros:
		return fmt.Errorf("%w: more than %s USD in %v", ErrVelocity, usd(v.MaxMicros), v.Window)
	case v.MaxPayments > 0 && count > v.MaxPayments:
		return fmt.Errorf("%w: more than %d payments in %v", ErrVelocity, v.MaxPayments, v.Window)
	}
	return nil
}

func (s *spending) drop(one *expense) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.budget > 0 {
		s.total -= one.micros
	}
	for i, m := range s.made {
		if m == one {
			s.made = append(s.made[:i], s.made[i+1:]...)
			return
		}
	}
}
