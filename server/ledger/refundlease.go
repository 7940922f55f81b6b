package ledger

import (
	"context"
	"fmt"
	"time"
)

// FindRefund returns the refund with an id, or [ErrNotFound].
func (l *Ledger) FindRefund(ctx context.Context, refundID string) (Refund, error) {
	var result Refund
	err := l.run(ctx, refundID, Keys{Refunds: []string{refundID}}, func(s *State, _ time.Time) (Effects, error) {
		known, ok := s.Refunds[refundID]
		if !ok {
			return Effects{}, ErrNotFound
		}
		result = known
		return Effects{}, nil
	})
	if err != nil {
		return Refund{}, fmt.Errorf("find refund %s: %w", refundID, err)
	}
	return result, nil
}

// LeaseRefund leases a pending refund until a time, so that the caller may finish it. It
// reports false if another lease has not expired, or if the refund is decided.
func (l *Ledger) LeaseRefund(ctx context.Context, r Refund, until time.Time) (Refund, bool, error) {
	var (
		result Refund
		taken  bool
	)
	lease := l.newLease()
	err := l.run(ctx, r.MandateID, Keys{Refunds: []string{r.ID}}, func(s *State, now time.Time) (Effects, error) {
		known, ok := s.Refunds[r.ID]
		result, taken = known, ok && known.Status == RefundPending && known.LeaseOwner == lease
		if taken || !ok || known.Status != RefundPending || now.Before(known.LeaseUntil) {
			return Effects{}, nil
		}
		known.LeaseOwner, known.LeaseUntil = lease, until
		known.Asked++
		result, taken = known, true
		return Effects{Update: Rows{Refunds: []Refund{known}}}, nil
	})
	if err != nil {
		return Refund{}, false, fmt.Errorf("lease refund %s: %w", r.ID, err)
	}
	return result, taken, nil
}

// ScheduleRefund sets the time at which recovery asks the rail of a pending refund next. It
// ends the refund's lease and resets the pauses between attempts. It returns the refund. A
// decided refund does not change.
func (l *Ledger) ScheduleRefund(ctx context.Context, r Refund, next time.Time) (Refund, error) {
	var result Refund
	err := l.run(ctx, r.MandateID, Keys{Refunds: []string{r.ID}}, func(s *State, _ time.Time) (Effects, error) {
		known, ok := s.Refunds[r.ID]
		if !ok {
			return Effects{}, ErrNotFound
		}
		if result = known; known.Status != RefundPending {
			return Effects{}, nil
		}
		result.LeaseOwner, result.LeaseUntil, result.Asked = "", next, 1
		return Effects{Update: Rows{Refunds: []Refund{result}}}, nil
	})
	if err != nil {
		return Refund{}, fmt.Errorf("schedule refund %s: %w", r.ID, err)
	}
	return result, nil
}
