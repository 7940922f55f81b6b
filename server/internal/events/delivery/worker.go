package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paywarrant/paywarrant/server/internal/events/sender"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// MaxInFlight is how many deliveries are on their way to one endpoint at once.
	MaxInFlight = 32
	// workerTick is how often a worker looks at its retries without a signal.
	workerTick = 250 * time.Millisecond
	// idleLease is how long the lease of an endpoint without work is kept: ending it and
	// taking it again are a commit each.
	idleLease = 10 * time.Second
	// errorPause is the pause of an endpoint whose worker ended with an error.
	errorPause = 5 * time.Second
	// endTimeout is how long deliveries in flight may take to end at Close.
	endTimeout = 3 * time.Second
)

// worker delivers to one endpoint while this instance has it on lease.
type worker struct {
	*Deliverer

	endpoint store.WebhookEndpoint // as it was last read
	target   *sender.Target
	state    store.EndpointState
	stream   stream
	stored   stored

	lanes    map[string]*lane // those with deliveries in memory
	ready    []*lane          // those whose first delivery can be sent
	inFlight int
	flights  *sync.WaitGroup // deliveries in flight since the last rotation
	results  chan result

	idleSince time.Time // real time; zero: there is work

	// Other goroutines use these.
	end       context.CancelCauseFunc
	wake      chan struct{}             // the stream has grown, the version changed, or the lease was extended
	rotated   chan chan *sync.WaitGroup // answered with the deliveries that were signed before
	ended     chan struct{}
	until     atomic.Int64                        // end of the lease, unix milliseconds
	version   atomic.Int64                        // the newest known version of the endpoint
	read      atomic.Int64                        // the last offset of the stream that was read
	published atomic.Pointer[store.EndpointState] // to be saved
	saved     store.EndpointState                 // under the deliverer's mutex saving
}

// lane is the deliveries of a mandate in memory, in order, or a redelivery.
type lane struct {
	id     string
	items  []*item
	stored bool      // they are stored, and so are their outcomes
	sentAt time.Time // of the first; real time; zero: it is not in flight
}

// item is a delivery in memory.
type item struct {
	store.DueDelivery

	done bool // delivered or stored: the offset may pass it
}

func newWorker(d *Deliverer, e store.WebhookEndpoint, until time.Time, end context.CancelCauseFunc) *worker {
	w := &worker{
		Deliverer: d, endpoint: e, stream: stream{more: true}, stored: stored{scanning: true}, lanes: map[string]*lane{},
		flights: &sync.WaitGroup{}, results: make(chan result, MaxInFlight),
		end: end, wake: make(chan struct{}, 1), rotated: make(chan chan *sync.WaitGroup), ended: make(chan struct{}),
		state: store.EndpointState{
			EndpointID: e.ID, Offset: e.Offset, FailingSince: e.FailingSince, Failures: e.Failures, PausedUntil: e.PausedUntil,
		},
	}
	w.until.Store(until.UnixMilli())
	w.version.Store(e.Version)
	w.read.Store(e.Offset)
	w.saved = w.state
	w.publish()
	return w
}

// publish has the state saved.
func (w *worker) publish() {
	if p := w.published.Load(); p == nil || *p != w.state {
		state := w.state
		w.published.Store(&state)
	}
}

// run works until there is nothing to do, and ends the lease. When ctx ends, deliveries
// in flight have a moment to end, and the store a moment more.
func (w *worker) run(ctx context.Context) {
	defer close(w.ended)
	requests, cancel := outlive(ctx, endTimeout)
	defer cancel()
	db, stop := outlive(ctx, 2*endTimeout)
	defer stop()
	err := w.work(ctx, db, requests)
	if err != nil {
		w.end(err)
	}
	if err = w.finish(db, err); errors.Is(err, store.ErrLeaseLost) {
		return
	}
	if err != nil {
		w.Logger.ErrorContext(ctx, "webhook deliveries paused", slog.String("endpoint", w.endpoint.ID), slog.String("error", err.Error()))
		w.state.PausedUntil = w.Clock().Add(errorPause)
	}
	w.publish()
	if err := w.saveStates(db); err != nil {
		w.failed(db, "save the offset of a webhook endpoint", err)
	}
	wake := w.stored.retryAt
	if w.unfinished() {
		wake = w.Clock()
	}
	if err := w.Store.ReleaseWebhookEndpoint(db, w.owner, w.endpoint, w.Clock(), wake); err != nil {
		w.failed(db, "release webhook endpoint", err) // the lease ends by itself
	}
}

// outlive returns a context that ends d after ctx.
func outlive(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return longer, func() { stop(); cancel() }
}

// work delivers until there is nothing to do, ctx ends or something fails.
func (w *worker) work(ctx, db, requests context.Context) error {
	ticker := time.NewTicker(workerTick)
	defer ticker.Stop()
	err := w.adopt(db, w.endpoint)
	for err == nil && ctx.Err() == nil {
		if err = w.step(db, requests); err != nil || w.idle() {
			return err
		}
		w.publish()
		select {
		case r := <-w.results:
			err = w.settle(db, r)
		case <-w.wake:
			w.stream.more = true
			err = w.refresh(db, w.version.Load() != w.endpoint.Version)
		case signed := <-w.rotated:
			signed <- w.flights
			w.flights = &sync.WaitGroup{}
			err = w.refresh(db, true)
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	if err == nil && errors.Is(context.Cause(ctx), store.ErrLeaseLost) {
		err = store.ErrLeaseLost
	}
	return err
}

// step reads what can be sent, and sends it.
func (w *worker) step(db, requests context.Context) error {
	now := w.Clock()
	if w.endpoint.Disabled != "" || now.Before(w.state.PausedUntil) {
		return nil
	}
	err := w.refresh(db, w.target.Expired(now))
	if err == nil {
		err = w.readStored(db, now)
	}
	if err == nil {
		err = w.readStream(db)
	}
	if err == nil {
		w.send(requests, now)
	}
	return err
}

// refresh reads the endpoint again if it has changed.
func (w *worker) refresh(ctx context.Context, changed bool) error {
	if !changed {
		return nil
	}
	e, err := w.Store.WebhookEndpoint(ctx, w.endpoint.ID)
	if errors.Is(err, ledger.ErrNotFound) {
		return store.ErrLeaseLost
	}
	if err != nil {
		return fmt.Errorf("read webhook endpoint: %w", err)
	}
	if e.Version != w.endpoint.Version { // there may be redeliveries
		w.stored.scanning, w.stored.from = true, ""
	}
	return w.adopt(ctx, e)
}

// adopt takes over an endpoint as it was read.
func (w *worker) adopt(ctx context.Context, e store.WebhookEndpoint) (err error) {
	w.endpoint = e
	w.target, err = w.Sender.Open(ctx, e, w.Clock())
	return err
}

// idle reports whether the lease is to end, for want of work. A pause is none.
func (w *worker) idle() bool {
	disabled, paused := w.endpoint.Disabled != "", w.Clock().Before(w.state.PausedUntil)
	if w.inFlight > 0 || !disabled && !paused && w.unfinished() {
		w.idleSince = time.Time{}
		return false
	}
	if w.idleSince.IsZero() {
		w.idleSince = time.Now()
	}
	// If many endpoints are on lease, others may wait.
	return disabled || time.Since(w.idleSince) > idleLease || w.Busy() > maxWorkers*3/4
}

func (w *worker) unfinished() bool {
	return w.stream.more || w.stored.scanning || len(w.stored.due) > 0 || len(w.lanes) > 0
}

// finish waits for deliveries in flight, and stores what the offset would have to wait
// for. After an error it only waits.
func (w *worker) finish(ctx context.Context, err error) error {
	for w.inFlight > 0 {
		if r := <-w.results; err == nil {
			err = w.settle(ctx, r)
		} else {
			w.inFlight--
		}
	}
	if err != nil {
		return err
	}
	return w.checkpoint(ctx)
}
