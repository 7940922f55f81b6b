package events

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// watchEvery is how often news of leased endpoints are read, and offsets are saved: a
	// crash delivers again what came since.
	watchEvery = 100 * time.Millisecond
	// leaseEvery is the shortest pause between two looks for endpoints with work, and
	// roundEvery that between two looks at all endpoints.
	leaseEvery, roundEvery = 10 * time.Millisecond, 5 * time.Second
	// leaseFor is how long a lease lasts; leases are extended after extendEvery.
	leaseFor, extendEvery = 30 * time.Second, 5 * time.Second
	// maxWorkers is how many endpoints one instance has on lease.
	maxWorkers = 512
)

// watch leases endpoints that have work and keeps the leases, until ctx ends.
func (s *Service) watch(ctx context.Context) {
	ticker, pause := time.NewTicker(watchEvery), time.NewTicker(leaseEvery)
	defer ticker.Stop()
	defer pause.Stop()
	var round time.Time
	for extended := time.Now(); ctx.Err() == nil; <-pause.C {
		if s.short.Swap(false) || time.Since(extended) > extendEvery {
			s.extend(ctx)
			extended = time.Now()
		}
		s.lease(ctx, s.due)
		if time.Since(round) > roundEvery { // it finds what an instance that was killed has left
			s.lease(ctx, s.Store.BehindWebhookEndpoints)
			round = time.Now()
		}
		select {
		case <-ctx.Done():
		case <-s.poked:
		case <-ticker.C:
			s.readNews(ctx)
			if err := s.saveStates(ctx); err != nil {
				s.failed(ctx, "save offsets of webhook endpoints", err)
			}
		}
	}
}

// due lists endpoints whose time has come, and those of merchants with new events.
func (s *Service) due(ctx context.Context, now time.Time, limit int) ([]string, error) {
	s.mu.Lock()
	merchants := slices.Collect(maps.Keys(s.grown))
	clear(s.grown)
	s.mu.Unlock()
	return s.Store.DueWebhookEndpoints(ctx, merchants, now, limit)
}

// lease leases endpoints that look lists, and starts their workers.
func (s *Service) lease(ctx context.Context, look func(ctx context.Context, now time.Time, limit int) ([]string, error)) {
	free, now := maxWorkers-s.Busy(), s.Clock()
	if free <= 0 {
		return
	}
	ids, err := look(ctx, now, free)
	if err != nil {
		s.failed(ctx, "look for webhook work", err)
		return
	}
	until := now.Add(leaseFor)
	leased, err := s.Store.LeaseWebhookEndpoints(ctx, s.owner, ids[:min(len(ids), free)], now, until)
	if err != nil {
		s.failed(ctx, "lease webhook endpoints", err)
	}
	for _, e := range leased {
		failpoint.Hit(failpoint.EndpointTaken)
		s.work(ctx, e, until)
	}
}

// work starts the worker of an endpoint that was leased.
func (s *Service) work(ctx context.Context, e store.WebhookEndpoint, until time.Time) {
	s.mu.Lock()
	w := s.workers[e.ID]
	if w != nil { // the clock was moved: it was this instance's lease that ended
		w.regained = true
	}
	s.mu.Unlock()
	if w != nil {
		w.until.Store(until.UnixMilli())
		signal(w.wake)
		return
	}
	w = newWorker(s, e, until)
	forget := s.listen(e.MerchantID, w.wake)
	s.mu.Lock()
	s.workers[e.ID] = w
	s.mu.Unlock()
	s.running.Go(func() {
		w.run(ctx)
		forget()
		s.mu.Lock()
		s.grown[e.MerchantID] = true // there may be events since the worker ended
		s.mu.Unlock()
		signal(s.poked)
	})
}

// leave removes a worker that has ended, and reports whether its endpoint was leased for it
// again. It must precede the release: otherwise the next lease finds the worker that has
// ended, takes it for a running one, and nothing is delivered until that lease expires.
func (s *Service) leave(w *worker) (regained bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.workers, w.endpoint.ID)
	return w.regained
}

// all returns the workers by endpoint.
func (s *Service) all() map[string]*worker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.workers)
}

// extend extends the leases of all workers.
func (s *Service) extend(ctx context.Context) {
	workers, until := s.all(), s.Clock().Add(leaseFor)
	if len(workers) == 0 {
		return
	}
	ids, err := s.Store.ExtendWebhookLeases(ctx, s.owner, slices.Collect(maps.Keys(workers)), until)
	if err != nil {
		s.failed(ctx, "extend webhook leases", err)
	}
	for _, id := range ids {
		workers[id].until.Store(until.UnixMilli())
		signal(workers[id].wake)
	}
}

// readNews reads what other instances changed for the endpoints on lease here. There are
// no news of an endpoint that was deleted or that another instance has on lease.
func (s *Service) readNews(ctx context.Context) {
	workers := s.all()
	if len(workers) == 0 {
		return
	}
	news, err := s.Store.WebhookNews(ctx, s.owner)
	if err != nil {
		s.failed(ctx, "read news of webhook endpoints", err)
		return
	}
	for id, w := range workers {
		n, leased := news[id]
		if !leased {
			w.lost.Store(true)
		}
		if changed := w.version.Swap(n.Version) != n.Version; !leased || changed || n.StreamEnd > w.read.Load() {
			signal(w.wake)
		}
	}
}

// saveStates saves the states of the endpoints that changed.
func (s *Service) saveStates(ctx context.Context) error {
	s.saving.Lock()
	defer s.saving.Unlock()
	changed := map[*worker]store.EndpointState{}
	for _, w := range s.all() {
		if state := *w.published.Load(); state != w.saved {
			changed[w] = state
		}
	}
	if len(changed) == 0 {
		return nil
	}
	failpoint.Hit(failpoint.DeliveriesSaving)
	if err := s.Store.SaveEndpoints(ctx, slices.Collect(maps.Values(changed))); err != nil {
		return err
	}
	failpoint.Hit(failpoint.DeliveriesSaved)
	for w, state := range changed {
		w.saved = state
	}
	return nil
}
