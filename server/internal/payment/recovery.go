package payment

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Start begins the background work, which lasts until Close: it finishes the charges
// whose lease has expired. If the store belongs to this process alone, it finishes the
// charges of an earlier process at once. The errors are those of the store.
func (s *Service) Start(ctx context.Context) error {
	if err := s.Ledger.FreeLeases(ctx); err != nil {
		return err
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.loop.Go(func() { s.recover(ctx) })
	s.loop.Go(func() { s.unwind(ctx) })
	s.loop.Go(func() { s.recoverRefunds(ctx) })
	s.loop.Go(func() { s.sweepAccounts(ctx) })
	return nil
}

// Close waits for the charges that are running, then ends the background work.
// Charge returns ledger.ErrClosed from then on. Close may be called twice.
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

// pools keeps the charges, or refunds, of one rail from waiting for another rail: each rail has
// its own workers and a bounded queue.
type pools struct {
	mu     sync.Mutex
	byRail map[rail.Name]*pool
	idle   chan struct{} // signaled when a pool has no more work
	work   sync.WaitGroup
}

type pool struct {
	waiting map[string]bool // ids that wait or are being asked about
	slots   chan struct{}
}

// full returns the rails whose pools take no more charges.
func (p *pools) full() (names []rail.Name) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, one := range p.byRail {
		if len(one.waiting) >= recoverBatch {
			names = append(names, name)
		}
	}
	return names
}

// add runs do for an id when the pool of its rail has a free worker. It does nothing if the id is
// queued or the pool is full.
func (p *pools) add(ctx context.Context, name rail.Name, id string, do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.byRail[name]
	if one == nil {
		one = &pool{waiting: map[string]bool{}, slots: make(chan struct{}, recoverWorkers)}
		p.byRail[name] = one
	}
	if one.waiting[id] || len(one.waiting) >= recoverBatch {
		return
	}
	one.waiting[id] = true
	p.work.Go(func() {
		defer p.done(one, id)
		select {
		case one.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		defer func() { <-one.slots }()
		do()
	})
}

func (p *pools) done(one *pool, chargeID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(one.waiting, chargeID)
	if len(one.waiting) == 0 {
		select {
		case p.idle <- struct{}{}:
		default: // already signaled
		}
	}
}

// recover looks up expired leases at intervals, and as soon as a pool has no more work.
func (s *Service) recover(ctx context.Context) {
	p := &pools{byRail: map[rail.Name]*pool{}, idle: make(chan struct{}, 1)}
	defer p.work.Wait()
	tick := time.NewTicker(recoverEvery)
	defer tick.Stop()
	for {
		s.expireHolds(ctx)
		lapsed, err := s.Ledger.Lapsed(ctx, s.Clock(), p.full(), recoverBatch)
		if err != nil && ctx.Err() == nil {
			s.Logger.ErrorContext(ctx, "list lapsed charges", slog.String("error", err.Error()))
		}
		for _, c := range lapsed {
			p.add(ctx, c.Waiting(), c.ID, func() { s.resume(ctx, c) })
		}
		more := p.idle
		if len(lapsed) < recoverBatch {
			more = nil // there are no others
		}
		select {
		case <-ctx.Done():
			return
		case <-more:
		case <-tick.C:
		}
	}
}

// resume leases one charge and finishes it.
func (s *Service) resume(ctx context.Context, c ledger.Charge) {
	failpoint.Hit(failpoint.Lapsed)
	c, taken, err := s.Ledger.Lease(ctx, c, s.Clock().Add(leaseFor))
	if err != nil || !taken {
		return // another instance holds the lease, or it expires again
	}
	failpoint.Hit(failpoint.Leased)
	c, err = s.finish(ctx, c, attempt{within: recoverTimeout, resumed: true})
	if err != nil {
		s.Logger.ErrorContext(ctx, "charge not finished", slog.String("transactionId", c.ID), slog.String("error", err.Error()))
		return
	}
	failpoint.Hit(failpoint.Recovered)
	s.Logger.InfoContext(ctx, "charge recovered", slog.String("transactionId", c.ID), slog.String("status", string(c.Status)))
}

// putOff returns the pause before the rail is asked again: one second, doubled each time.
func putOff(asked int) time.Duration {
	return min(time.Second<<min(asked, 16), maxPutOff)
}
