package events

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	// saveBatch is how many outcomes one transaction saves, saveEvery the pause
	// between two: charges get their turn, and deliveries of one place in the store
	// share the writing of it. Where more wait than fit, the pause is no longer
	// than the saving was: half of the store's time is for others.
	saveBatch, saveEvery = 500, 30 * time.Millisecond
	// saveAgain is the pause after a failure of the store, saveAtEnd how long the
	// last saving may take.
	saveAgain, saveAtEnd = 500 * time.Millisecond, 5 * time.Second
)

// writer saves what came of attempts, many in one transaction. What it holds is
// bounded by the queues, which wait for it.
type writer struct {
	store Store
	log   *slog.Logger

	mu     sync.Mutex
	tried  []saving
	health map[string]ledger.EndpointHealth
	signal chan struct{}
	ending bool
	loop   sync.WaitGroup
}

// saving is an outcome and the queue that waits for it to be saved.
type saving struct {
	delivery ledger.Delivery
	of       *queue
}

func newWriter(store Store, log *slog.Logger) *writer {
	return &writer{store: store, log: log, health: map[string]ledger.EndpointHealth{}, signal: make(chan struct{}, 1)}
}

func (w *writer) add(v saving, h *ledger.EndpointHealth) {
	w.mu.Lock()
	w.tried = append(w.tried, v)
	if h != nil {
		w.health[h.EndpointID] = *h
	}
	w.mu.Unlock()
	signal(w.signal)
}

func (w *writer) start(ctx context.Context) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // the queues still need it when they end
	w.loop.Go(func() {
		defer stop()
		for range w.signal {
			for pause := saveEvery; w.save(ctx, &pause); {
				wait(ctx, pause)
			}
		}
	})
}

// close saves what is left and ends.
func (w *writer) close() {
	w.mu.Lock()
	before := w.ending
	w.ending = true
	w.mu.Unlock()
	if before {
		return
	}
	close(w.signal)
	w.loop.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), saveAtEnd)
	defer cancel()
	pause := saveEvery
	for w.save(ctx, &pause) && ctx.Err() == nil {
		continue
	}
}

// save saves one batch, and tells whether to go on; what was not saved stays.
func (w *writer) save(ctx context.Context, pause *time.Duration) bool {
	w.mu.Lock()
	batch := w.tried[:min(len(w.tried), saveBatch)]
	health := make([]ledger.EndpointHealth, 0, len(w.health))
	for _, h := range w.health {
		health = append(health, h)
	}
	w.mu.Unlock()
	if len(batch) == 0 {
		return false
	}
	rows := make([]ledger.Delivery, len(batch))
	for i, v := range batch {
		rows[i] = v.delivery
	}
	began := time.Now()
	if err := w.store.SaveDeliveries(ctx, rows, health); err != nil {
		w.log.ErrorContext(ctx, "save deliveries", slog.String("error", err.Error()))
		*pause = saveAgain
		w.mu.Lock()
		defer w.mu.Unlock()
		return !w.ending
	}
	*pause = saveEvery
	if len(batch) == saveBatch {
		*pause = min(saveEvery, time.Since(began))
	}
	w.mu.Lock()
	w.tried = w.tried[len(batch):]
	for _, h := range health {
		if w.health[h.EndpointID] == h {
			delete(w.health, h.EndpointID)
		}
	}
	w.mu.Unlock()
	done := map[*queue][]ledger.Delivery{}
	for _, v := range batch {
		done[v.of] = append(done[v.of], v.delivery)
	}
	for q, saved := range done {
		q.acknowledge(saved)
	}
	return true
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
