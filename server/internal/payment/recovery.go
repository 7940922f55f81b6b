package payment

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// Start finishes what an earlier process left pending, in the background, and
// goes on to finish whatever lapses. It ends with Close.
func (s *Service) Start(ctx context.Context) {
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.loop.Go(func() {
		s.recover(ctx, s.Clock.Now().Add(2*maxPutOff), recoverAtStart) // whoever had the leases
		tick := time.NewTicker(recoverEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.recover(ctx, s.Clock.Now(), recoverBatch)
			}
		}
	})
}

// Close waits for the charges that are running, then ends the background work.
// Charge answers ledger.ErrClosed from then on. Close may be called twice.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.running.Wait()
	if s.stop != nil {
		s.stop()
	}
	s.loop.Wait()
}

// recover finishes the pending charges whose lease ended before a time, up to a limit.
func (s *Service) recover(ctx context.Context, before time.Time, limit int) {
	lapsed, err := s.Ledger.Lapsed(ctx, before, limit)
	if err != nil {
		if ctx.Err() == nil {
			s.Logger.ErrorContext(ctx, "list lapsed charges", slog.String("error", err.Error()))
		}
		return
	}
	var workers sync.WaitGroup
	defer workers.Wait()
	slots := make(chan struct{}, recoverWorkers)
	for _, c := range lapsed {
		if ctx.Err() != nil {
			return
		}
		slots <- struct{}{}
		workers.Go(func() {
			defer func() { <-slots }()
			s.resume(ctx, c, before)
		})
	}
}

// resume takes the lease of one charge and finishes it.
func (s *Service) resume(ctx context.Context, c ledger.Charge, before time.Time) {
	failpoint.Hit(failpoint.Lapsed)
	now := s.Clock.Now()
	c, taken, err := s.Ledger.Lease(ctx, c, now.Add(leaseFor), before.After(now))
	if err != nil || !taken {
		return // somebody else has it, or it lapses again
	}
	failpoint.Hit(failpoint.Leased)
	m, err := s.Ledger.Mandate(ctx, c.MandateID)
	if err == nil {
		c, err = s.finish(ctx, c, m.Instruments)
	}
	if err != nil {
		s.Logger.ErrorContext(ctx, "charge not finished", slog.String("transactionId", c.ID), slog.String("error", err.Error()))
		return
	}
	failpoint.Hit(failpoint.Recovered)
	s.Logger.InfoContext(ctx, "charge recovered", slog.String("transactionId", c.ID), slog.String("status", string(c.Status)))
}

// putOff is how long to wait before the rail is asked again: one second, doubled
// each time.
func putOff(asked int) time.Duration {
	return min(time.Second<<min(asked, 16), maxPutOff)
}
