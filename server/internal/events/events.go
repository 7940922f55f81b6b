// Package events delivers each merchant's events to its webhook endpoints.
//
//	s, err := events.New(events.Config{Store: store, Vault: box, Clock: clock, Logger: log})
//	s.Start(ctx)
//	defer s.Close()
//
// The ledger numbers a merchant's events without a gap: they are the merchant's stream, and
// a number is an offset in it. Each endpoint has an offset: up to there, every event was
// delivered, or has a stored delivery. One instance at a time has an endpoint on lease, and
// runs a worker for it:
//
//   - The worker reads the stream from the offset on, up to a window of events. It puts each
//     event into the lane of its mandate, and sends the first of each lane, several lanes at
//     once. When an event is delivered, the next one of its lane follows.
//   - The offset moves past the delivered events at the front of the window. It is saved
//     ten times a second, for all endpoints together. A delivery that succeeds at the
//     first attempt writes nothing else.
//   - If an event fails, the worker stores its delivery and those that wait behind it in its
//     lane. Then the offset may pass them. While a lane has pending stored deliveries, the
//     later events of its mandate are stored as well.
//   - When a retry is due, the worker loads the lane from the store, sends its deliveries in
//     order, and stores each outcome.
//
// Two rules hold throughout. A delivery is stored before the offset passes its event, and
// not before those that precede it in its lane; so a mandate's events keep their order. And
// nothing is on its way to the store while the worker goes on: it waits until a delivery is
// stored, and ends if the store fails. The next holder of the lease starts from what is
// stored; what was delivered after the saved offset is then delivered again.
//
// Nothing here is part of a charge. A worker reads events that are committed, and slow
// or failing endpoints delay no other endpoint: each has its own worker and connections.
package events

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/recorder"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Config configures a Service. Store, Vault, Clock and Logger are required.
type Config struct {
	Store  Store
	Vault  *vault.Vault
	Clock  func() time.Time
	Logger *slog.Logger
	// Live is the value of livemode in every event.
	Live bool
	// May reports whether an address may be dialed. Default: those of the public internet.
	May func(netip.Addr) bool
	// Resolver resolves the names of endpoints. Default: the system's.
	Resolver *net.Resolver
	// Telemetry records events and deliveries. Default: none.
	Telemetry *recorder.Recorder
	// Mail informs a merchant that an endpoint was disabled. Default: no mail is sent.
	Mail func(ctx context.Context, to, subject, text string) error
}

// Store is the part of the store that is used here.
type Store interface {
	store.Webhooks
	Event(ctx context.Context, id string) (ledger.Event, error)
	Events(ctx context.Context, merchantID string, since time.Time, before, after int64, limit int) ([]ledger.Event, error)
	StreamEvents(ctx context.Context, merchantID string, after int64, limit int) ([]ledger.Event, error)
	Merchant(ctx context.Context, id string) (ledger.Merchant, error)
}

// Service delivers events.
type Service struct {
	Config

	owner string // of leases
	http  *http.Transport

	drained context.Context // ends when Drain or Close begins
	drain   context.CancelFunc
	stop    context.CancelFunc
	watcher sync.WaitGroup
	running sync.WaitGroup // the workers

	poked  chan struct{} // endpoints may have work
	short  atomic.Bool   // a lease is too short to begin a delivery
	saving sync.Mutex    // of the workers' states

	mu        sync.Mutex
	workers   map[string]*worker                // by endpoint
	listeners map[string]map[chan struct{}]bool // signaled about new events, by merchant
	grown     map[string]bool                   // merchants with new events since the last look for work
}

// New returns a service; [Service.Start] begins its work. The returned error says which
// fields are required.
func New(cfg Config) (*Service, error) {
	if cfg.Store == nil || cfg.Vault == nil || cfg.Clock == nil || cfg.Logger == nil {
		return nil, errors.New("events: Store, Vault, Clock and Logger are required")
	}
	s := &Service{
		Config: cfg, owner: id.NewCapability("own_"), http: transport(cfg), poked: make(chan struct{}, 1),
		workers: map[string]*worker{}, listeners: map[string]map[chan struct{}]bool{}, grown: map[string]bool{},
	}
	s.drained, s.drain = context.WithCancel(context.Background())
	return s, nil
}

// Start begins the work. It ends with Close.
func (s *Service) Start(ctx context.Context) {
	if err := s.Store.FreeWebhookLeases(ctx); err != nil {
		s.failed(ctx, "free webhook leases", err) // they end by themselves
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.watcher.Go(func() { s.watch(ctx) })
}

// Drain ends waiting for events, and nothing else.
func (s *Service) Drain() { s.drain() }

// Close ends the work. Requests in flight have a moment to end; those that do not are
// made again later. Close may be called twice.
func (s *Service) Close() {
	s.Drain()
	if s.stop != nil {
		s.stop()
	}
	s.watcher.Wait()
	s.running.Wait()
	s.http.CloseIdleConnections()
}

// Busy returns how many endpoints this instance has on lease.
func (s *Service) Busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.workers)
}

// Happened is called with events that are committed.
func (s *Service) Happened(events []ledger.Event) {
	s.mu.Lock()
	for _, e := range events {
		s.Telemetry.Happened(string(e.Type))
		s.grown[e.MerchantID] = true
		for listener := range s.listeners[e.MerchantID] {
			signal(listener)
		}
	}
	s.mu.Unlock()
	signal(s.poked)
}

// listen has a channel signaled about a merchant's new events, until forget is called.
func (s *Service) listen(merchantID string, listener chan struct{}) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listeners[merchantID] == nil {
		s.listeners[merchantID] = map[chan struct{}]bool{}
	}
	s.listeners[merchantID][listener] = true
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.listeners[merchantID], listener); len(s.listeners[merchantID]) == 0 {
			delete(s.listeners, merchantID)
		}
	}
}

func (s *Service) failed(ctx context.Context, doing string, err error) {
	if ctx.Err() == nil {
		s.Logger.ErrorContext(ctx, "webhooks: store", slog.String("doing", doing), slog.String("error", err.Error()))
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is signaled already
	}
}

// Tap returns a store that calls happened with the events of each committed change.
func Tap(store ledger.Store, happened func([]ledger.Event)) ledger.Store {
	return tapped{store, happened}
}

type tapped struct {
	ledger.Store

	happened func([]ledger.Event)
}

// Update implements ledger.Store.
func (t tapped) Update(ctx context.Context, keys ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	var written []ledger.Event
	err := t.Store.Update(ctx, keys, func(s *ledger.State) (ledger.Effects, error) {
		e, err := decide(s)
		written = e.Insert.Events
		return e, err
	})
	if err == nil && len(written) > 0 {
		t.happened(written)
	}
	return err
}
