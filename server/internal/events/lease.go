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

// watch takes endpoints that have work, until ctx is done.
func (s *Service) watch(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	round := round{Service: s}
	for ctx.Err() == nil {
		s.lease(ctx, s.due)
		s.lease(ctx, round.next)
		wait(ctx, calm) // what comes one by one is leased together
		select {
		case <-ctx.Done():
		case <-s.poked:
		case <-ticker.C:
			s.listen(ctx)
		}
	}
}

// due are endpoints whose time has come, and those of merchants to whom something
// has happened.
func (s *Service) due(ctx context.Context, room int) ([]string, error) {
	s.mu.Lock()
	merchants := slices.Collect(maps.Keys(s.grown))
	clear(s.grown)
	s.mu.Unlock()
	due, err := s.Store.DueWebhookEndpoints(ctx, merchants, s.Clock(), room)
	if err != nil { // once more
		s.mu.Lock()
		for _, id := range merchants {
			s.grown[id] = true
		}
		s.mu.Unlock()
	}
	return due, err
}

// round goes through all endpoints again and again, for those whose merchant's events
// were told to an instance that is gone.
type round struct {
	*Service

	from string
	at   time.Time // real time: not before
}

func (r *round) next(ctx context.Context, _ int) (behind []string, err error) {
	if time.Now().Before(r.at) {
		return nil, nil
	}
	behind, r.from, err = r.Store.BehindWebhookEndpoints(ctx, r.from, r.Clock(), roundPage)
	if r.from == "" {
		r.at = time.Now().Add(roundEvery)
	}
	return behind, err
}

// listen hears what is new for the queues that are worked on here, from other instances.
func (s *Service) listen(ctx context.Context) {
	s.mu.Lock()
	idle := len(s.queues) == 0
	s.mu.Unlock()
	if idle {
		return
	}
	news, err := s.Store.WebhookNews(ctx, s.owner)
	if err != nil {
		s.failed(ctx, "read news of webhook endpoints", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, n := range news {
		if q := s.queues[id]; q != nil {
			q.hear(n)
		}
	}
}

// lease takes endpoints that look finds, as many as there is room for, and begins to
// work on them.
func (s *Service) lease(ctx context.Context, look func(ctx context.Context, room int) ([]string, error)) {
	s.mu.Lock()
	room := maxQueues - len(s.queues)
	s.mu.Unlock()
	if room <= 0 {
		return
	}
	ids, err := look(ctx, room)
	if err != nil {
		s.failed(ctx, "look for webhook work", err)
		return
	}
	now := s.Clock()
	until := now.Add(leaseFor)
	taken, err := s.Store.LeaseWebhookEndpoints(ctx, s.owner, ids[:min(len(ids), room)], now, until)
	if err != nil {
		s.failed(ctx, "lease webhook endpoints", err)
	}
	for _, e := range taken {
		failpoint.Hit(failpoint.EndpointTaken)
		s.work(ctx, e, until)
	}
}

// work begins to work on an endpoint that was leased.
func (s *Service) work(ctx context.Context, e ledger.WebhookEndpoint, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[e.ID]; q != nil { // the clock was moved, and our own lease had lapsed
		q.until.Store(until.UnixMilli())
		q.hear(ledger.EndpointNews{WakeSeq: e.WakeSeq})
		return
	}
	q := newQueue(s, e, until)
	s.queues[e.ID] = q
	q.feed = s.join(q)
	s.running.Go(func() {
		q.run(ctx)
		s.mu.Lock()
		delete(s.queues, e.ID)
		s.leave(q)
		s.grown[e.MerchantID] = true // something may have happened since
		s.mu.Unlock()
		s.Poke()
	})
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
		until := s.Clock().Add(leaseFor)
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
