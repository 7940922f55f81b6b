package events

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/ledger"
)

const (
	// saveBatch is how many deliveries one transaction stores, since charges wait for
	// it; saveEvery is the pause between two, in which what is taken makes one row for
	// each endpoint, and which a crash sends again. Where more wait than fit, the pause
	// is no longer than the saving was: half of the store's time is for others.
	saveBatch, saveEvery = 8, 100 * time.Millisecond
	// saveAgain is the pause after a failure of the store, saveAtEnd how long the
	// last saving may take.
	saveAgain, saveAtEnd = 500 * time.Millisecond, 5 * time.Second
)

// progress is what a queue has to save: in one transaction, since the place goes
// past what is stored.
type progress struct {
	of    *queue
	rows  []ledger.Delivery
	state ledger.EndpointState
	nth   int // of the queue's; later ones are joined to it until it is taken
}

// writer saves what queues have come to, many in one transaction. What they hold
// until then is bounded by the queues.
type writer struct {
	store Store
	log   *slog.Logger
	batch []progress // being saved, until that succeeds

	mu     sync.Mutex
	queues []*queue // that have something to save
	signal chan struct{}
	ending bool
	loop   sync.WaitGroup
}

func newWriter(store Store, log *slog.Logger) *writer {
	return &writer{store: store, log: log, signal: make(chan struct{}, 1)}
}

// add tells that a queue has something to save. It is told once until that is taken.
func (w *writer) add(q *queue) {
	w.mu.Lock()
	w.queues = append(w.queues, q)
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

// take makes up a batch, unless the last one is still to be saved.
func (w *writer) take() (rows []ledger.Delivery, reached []ledger.EndpointState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.batch) == 0 {
		for room := saveBatch; room > 0 && len(w.queues) > 0; {
			p, more := w.queues[0].collect(room)
			if w.batch = append(w.batch, p); !more {
				w.queues = w.queues[1:]
			}
			room -= len(p.rows)
		}
	}
	for _, p := range w.batch {
		rows, reached = append(rows, p.rows...), append(reached, p.state)
	}
	return rows, reached
}

// save saves one batch, and tells whether to go on; what was not saved stays.
func (w *writer) save(ctx context.Context, pause *time.Duration) bool {
	rows, reached := w.take()
	if len(reached) == 0 {
		return false
	}
	began := time.Now()
	failpoint.Hit(failpoint.DeliveriesSaving)
	if err := w.store.SaveDeliveries(ctx, rows, reached); err != nil {
		w.log.ErrorContext(ctx, "save deliveries", slog.String("error", err.Error()))
		*pause = saveAgain
		w.mu.Lock()
		defer w.mu.Unlock()
		return !w.ending
	}
	failpoint.Hit(failpoint.DeliveriesSaved)
	for _, p := range w.batch {
		p.of.acknowledge(p)
	}
	w.batch = nil
	if *pause = saveEvery; len(rows) >= saveBatch {
		*pause = min(saveEvery, time.Since(began))
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
