// Package delivery delivers the events of merchants' streams to webhook endpoints. The
// documentation of package events, above it, explains the way of an event.
//
// A [Deliverer] leases endpoints that have work (leases.go), and runs a worker for each
// (worker.go). A worker reads the stream (stream.go) and the stored deliveries (stored.go)
// into lanes, sends the first of each lane (attempt.go), and follows the endpoint's health
// (health.go).
package delivery

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/events/sender"
	"github.com/paywarrant/paywarrant/server/internal/recorder"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// Config configures a Deliverer. Telemetry and MailDisabled may be nil.
type Config struct {
	Store     Store
	Sender    *sender.Sender
	Clock     func() time.Time
	Logger    *slog.Logger
	Telemetry *recorder.Recorder
	// MailDisabled informs a merchant that an endpoint was disabled.
	MailDisabled func(ctx context.Context, endpointID string)
}

// Store is the part of the store that is used here.
type Store interface {
	store.Webhooks
	StreamEvents(ctx context.Context, merchantID string, after int64, limit int) ([]ledger.Event, error)
	Merchant(ctx context.Context, id string) (ledger.Merchant, error)
}

// Deliverer delivers events to the endpoints that it has on lease.
type Deliverer struct {
	Config

	owner   string // of leases
	stop    context.CancelFunc
	watcher sync.WaitGroup
	running sync.WaitGroup // the workers

	poked  chan struct{} // endpoints may have work
	saving sync.Mutex    // of the workers' states

	mu      sync.Mutex
	workers map[string]map[string]*worker // by merchant and endpoint
	busy    int                           // how many workers there are
	grown   map[string]bool               // merchants with new events since the last look for work
}

// New returns a deliverer. Its work begins with Start.
func New(cfg Config) *Deliverer {
	return &Deliverer{
		Config: cfg, owner: id.NewCapability("own_"), poked: make(chan struct{}, 1),
		workers: map[string]map[string]*worker{}, grown: map[string]bool{},
	}
}

// Start begins the work. It ends with Close.
func (d *Deliverer) Start(ctx context.Context) {
	now := d.Clock()
	if err := d.Store.FreeWebhookLeases(ctx, now, now.Add(longestWait)); err != nil {
		d.failed(ctx, "free webhook leases", err) // they end by themselves
	}
	ctx, d.stop = context.WithCancel(context.WithoutCancel(ctx))
	d.watcher.Go(func() { d.watch(ctx) })
}

// Close ends the work. Requests in flight have a moment to end.
func (d *Deliverer) Close() {
	if d.stop != nil {
		d.stop()
	}
	d.watcher.Wait()
	d.running.Wait()
}

// Busy returns how many endpoints are on lease.
func (d *Deliverer) Busy() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.busy
}

// Happened is called with events that are committed.
func (d *Deliverer) Happened(events []ledger.Event) {
	d.mu.Lock()
	for _, e := range events {
		d.Telemetry.Happened(string(e.Type))
		d.grown[e.MerchantID] = true
		for _, w := range d.workers[e.MerchantID] {
			signal(w.wake)
		}
	}
	d.mu.Unlock()
	d.Poke()
}

// Poke has endpoints with work looked for at once.
func (d *Deliverer) Poke() { signal(d.poked) }

// AwaitRotation has the worker of an endpoint, if there is one, read the secrets again. It
// returns when every request that was signed before has been answered.
func (d *Deliverer) AwaitRotation(ctx context.Context, e store.WebhookEndpoint) {
	d.mu.Lock()
	w := d.workers[e.MerchantID][e.ID]
	d.mu.Unlock()
	if w == nil {
		return
	}
	signed := make(chan *sync.WaitGroup, 1)
	select {
	case w.rotated <- signed:
		(<-signed).Wait()
	case <-w.ended:
	case <-ctx.Done():
	}
}

func (d *Deliverer) failed(ctx context.Context, doing string, err error) {
	if ctx.Err() == nil {
		d.Logger.ErrorContext(ctx, "webhooks: store", slog.String("doing", doing), slog.String("error", err.Error()))
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is signaled already
	}
}
