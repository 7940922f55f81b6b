package events

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// relay empties the outbox into the streams and takes endpoints that have work,
// until ctx is done.
func (s *Service) relay(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var from ledger.LaneKey
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.poked:
		}
		from = s.empty(ctx, from)
		s.lease(ctx)
		s.listen(ctx)
		// Charges that come one by one are relayed together.
		pause := time.NewTimer(calm)
		select {
		case <-ctx.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
		timer.Reset(tick)
	}
}

// empty relays until the outbox is empty. It goes on where it left off, so that no
// mandate waits for ever behind busy ones.
func (s *Service) empty(ctx context.Context, from ledger.LaneKey) ledger.LaneKey {
	for again := from != (ledger.LaneKey{}); ctx.Err() == nil; {
		failpoint.Hit(failpoint.Relaying)
		done, err := s.Store.RelayEvents(ctx, from, relayBatch, s.Clock.Now())
		if err != nil {
			s.failed(ctx, "relay events", err)
			return ledger.LaneKey{}
		}
		failpoint.Hit(failpoint.Relayed)
		s.relayed(done.Endpoints)
		if done.Events == relayBatch {
			from, again = done.Last, true
			s.lease(ctx)
			continue
		}
		if from = (ledger.LaneKey{}); !again {
			break
		}
		again = false // once more from the beginning
	}
	return from
}

// relayed tells the queues that are worked on here that the relay added something.
func (s *Service) relayed(endpoints []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range endpoints {
		if q := s.queues[id]; q != nil {
			q.grown(q.known() + 1)
		}
	}
}

// listen tells the queues that are worked on here what other instances added.
func (s *Service) listen(ctx context.Context) {
	s.mu.Lock()
	idle := len(s.queues) == 0
	s.mu.Unlock()
	if idle {
		return
	}
	wakes, err := s.Store.WebhookWakes(ctx, s.owner)
	if err != nil {
		s.failed(ctx, "read webhook wakes", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, seq := range wakes {
		if q := s.queues[id]; q != nil && seq != q.known() {
			q.grown(seq)
			q.added()
		}
	}
}

// wake tells the queues that are worked on here that something was added.
func (s *Service) wake(endpoints []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range endpoints {
		if q := s.queues[id]; q != nil {
			q.added()
		}
	}
}

// lease takes endpoints that have something to do, and begins to work on them.
func (s *Service) lease(ctx context.Context) {
	s.mu.Lock()
	room := maxQueues - len(s.queues)
	s.mu.Unlock()
	if room == 0 {
		return
	}
	now := s.Clock.Now()
	until := now.Add(leaseFor)
	taken, err := s.Store.LeaseWebhookEndpoints(ctx, s.owner, now, until, room)
	if err != nil {
		s.failed(ctx, "lease webhook endpoints", err)
		return
	}
	for _, e := range taken {
		s.mu.Lock()
		if q := s.queues[e.ID]; q != nil { // the clock was moved, and our own lease had lapsed
			q.until.Store(until.UnixMilli())
			q.grown(e.WakeSeq)
			q.added()
			s.mu.Unlock()
			continue
		}
		q := newQueue(s, e, until)
		s.queues[e.ID] = q
		s.mu.Unlock()
		s.running.Go(func() {
			q.run(ctx)
			s.mu.Lock()
			delete(s.queues, e.ID)
			s.mu.Unlock()
			s.Poke() // it may have got something to do since
		})
	}
}

// extend keeps the leases of what is worked on.
func (s *Service) extend(ctx context.Context) {
	timer := time.NewTicker(extendEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-s.extended:
		}
		s.mu.Lock()
		mine := make(map[string]*queue, len(s.queues))
		for id, q := range s.queues {
			mine[id] = q
		}
		s.mu.Unlock()
		if len(mine) == 0 {
			continue
		}
		until := s.Clock.Now().Add(leaseFor)
		ids, err := s.Store.ExtendWebhookLeases(ctx, s.owner, slices.Collect(maps.Keys(mine)), until)
		if err != nil {
			s.failed(ctx, "extend webhook leases", err)
			continue
		}
		for _, id := range ids {
			if q := mine[id]; q != nil {
				q.until.Store(until.UnixMilli())
				signal(q.signal)
				delete(mine, id)
			}
		}
		for _, q := range mine { // deleted, or another's by now
			q.lost.Store(true)
			signal(q.signal)
		}
	}
}

func (s *Service) failed(ctx context.Context, doing string, err error) {
	if ctx.Err() == nil {
		s.Logger.ErrorContext(ctx, "webhooks: store", slog.String("doing", doing), slog.String("error", err.Error()))
	}
}
