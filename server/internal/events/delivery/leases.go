package delivery

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
	// leaseFor is how long a lease lasts; leases are extended after extendEvery. Both are
	// times of the service's clock, which a test may move.
	leaseFor, extendEvery = 30 * time.Second, 5 * time.Second
	// maxWorkers is how many endpoints one instance has on lease.
	maxWorkers = 512
)

// watch leases endpoints that have work and keeps the leases, until ctx ends.
func (d *Deliverer) watch(ctx context.Context) {
	ticker, pause := time.NewTicker(watchEvery), time.NewTicker(leaseEvery)
	defer ticker.Stop()
	defer pause.Stop()
	var round, extended time.Time
	for ; ctx.Err() == nil; <-pause.C {
		if now := d.Clock(); now.Sub(extended) > extendEvery {
			d.extend(ctx, now.Add(leaseFor))
			extended = now
		}
		d.lease(ctx, d.due)
		if time.Since(round) > roundEvery { // it finds what an instance that was killed has left
			d.lease(ctx, d.Store.BehindWebhookEndpoints)
			round = time.Now()
		}
		select {
		case <-ctx.Done():
		case <-d.poked:
		case <-ticker.C:
			d.readNews(ctx)
			if err := d.saveStates(ctx); err != nil {
				d.failed(ctx, "save offsets of webhook endpoints", err)
			}
		}
	}
}

// all returns the workers by endpoint.
func (d *Deliverer) all() map[string]*worker {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make(map[string]*worker, d.busy)
	for _, workers := range d.workers {
		maps.Copy(all, workers)
	}
	return all
}

// due lists endpoints whose time has come, and those of merchants with new events.
func (d *Deliverer) due(ctx context.Context, now time.Time, limit int) ([]string, error) {
	d.mu.Lock()
	merchants := slices.Collect(maps.Keys(d.grown))
	clear(d.grown)
	d.mu.Unlock()
	return d.Store.DueWebhookEndpoints(ctx, merchants, now, limit)
}

// lease leases endpoints that look lists, and starts their workers. If a worker runs here
// for an endpoint that is not on lease, its lease has expired, or it has just released it:
// the first is extended, and the second looked for again when the worker has ended.
func (d *Deliverer) lease(ctx context.Context, look func(ctx context.Context, now time.Time, limit int) ([]string, error)) {
	free, now := maxWorkers-d.Busy(), d.Clock()
	if free <= 0 {
		return
	}
	ids, err := look(ctx, now, free)
	if err != nil {
		d.failed(ctx, "look for webhook work", err)
		return
	}
	workers := d.all()
	ids = slices.DeleteFunc(ids, func(id string) bool { return workers[id] != nil })
	until := now.Add(leaseFor)
	leased, err := d.Store.LeaseWebhookEndpoints(ctx, d.owner, ids[:min(len(ids), free)], now, until)
	if err != nil {
		d.failed(ctx, "lease webhook endpoints", err)
	}
	for _, e := range leased {
		failpoint.Hit(failpoint.EndpointTaken)
		d.work(ctx, e, until)
	}
}

// work starts the worker of an endpoint that was leased.
func (d *Deliverer) work(ctx context.Context, e store.WebhookEndpoint, until time.Time) {
	ctx, end := context.WithCancelCause(ctx)
	w := newWorker(d, e, until, end)
	d.mu.Lock()
	if d.workers[e.MerchantID] == nil {
		d.workers[e.MerchantID] = map[string]*worker{}
	}
	d.workers[e.MerchantID][e.ID] = w
	d.busy++
	d.mu.Unlock()
	d.running.Go(func() {
		defer end(nil)
		w.run(ctx)
		d.mu.Lock()
		if delete(d.workers[e.MerchantID], e.ID); len(d.workers[e.MerchantID]) == 0 {
			delete(d.workers, e.MerchantID)
		}
		d.busy--
		d.grown[e.MerchantID] = true // there may be events since the worker ended
		d.mu.Unlock()
		d.Poke()
	})
}

// extend extends the leases of all workers.
func (d *Deliverer) extend(ctx context.Context, until time.Time) {
	workers := d.all()
	if len(workers) == 0 {
		return
	}
	ids, err := d.Store.ExtendWebhookLeases(ctx, d.owner, slices.Collect(maps.Keys(workers)), until)
	if err != nil {
		d.failed(ctx, "extend webhook leases", err)
	}
	for _, id := range ids {
		workers[id].until.Store(until.UnixMilli())
		signal(workers[id].wake)
	}
}

// readNews reads what other instances changed for the endpoints on lease here. There are
// no news of an endpoint that was deleted or that another instance has on lease.
func (d *Deliverer) readNews(ctx context.Context) {
	workers := d.all()
	if len(workers) == 0 {
		return
	}
	news, err := d.Store.WebhookNews(ctx, d.owner)
	if err != nil {
		d.failed(ctx, "read news of webhook endpoints", err)
		return
	}
	for id, w := range workers {
		n, leased := news[id]
		if !leased {
			w.end(store.ErrLeaseLost)
			continue
		}
		if changed := w.version.Swap(n.Version) != n.Version; changed || n.StreamEnd > w.read.Load() {
			signal(w.wake)
		}
	}
}

// saveStates saves the states of the endpoints that changed.
func (d *Deliverer) saveStates(ctx context.Context) error {
	d.saving.Lock()
	defer d.saving.Unlock()
	changed := map[*worker]store.EndpointState{}
	for _, w := range d.all() {
		if state := *w.published.Load(); state != w.saved {
			changed[w] = state
		}
	}
	if len(changed) == 0 {
		return nil
	}
	failpoint.Hit(failpoint.DeliveriesSaving)
	if err := d.Store.SaveEndpoints(ctx, d.owner, slices.Collect(maps.Values(changed))); err != nil {
		return err
	}
	failpoint.Hit(failpoint.DeliveriesSaved)
	for w, state := range changed {
		w.saved = state
	}
	return nil
}
