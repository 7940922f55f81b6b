// Package events tells merchants what happened: it delivers each merchant's stream of
// events to the webhook endpoints.
//
//	s, err := events.New(events.Config{Store: store, Vault: box, Clock: clock, Logger: log})
//	s.Start(ctx)
//	defer s.Close()
//
// Each event has its place in its merchant's stream. An endpoint goes along the
// stream, and what it took at once is known by the place it has come to:
// only a delivery that failed is stored, with those that wait behind it. Every
// delivery is made at least once, those of one mandate in order: one that fails
// holds back the later ones of its mandate until it is taken or given up. An
// endpoint is worked on by one instance at a time, which has it on lease; so no two
// send at once, and what a dead instance had lapses. Each endpoint has a queue,
// connections, a concurrency and a breaker of its own: a slow one delays nobody else.
//
// Nothing here takes part in a charge: an event is told of, or read from the store, once
// its change is committed, and what comes of it is written in transactions of its own.
package events

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/ssrf"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/telemetry"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Config is what the service is made of. Store, Vault, Clock and Logger are required.
type Config struct {
	Store  Store
	Vault  *vault.Vault
	Clock  func() time.Time
	Logger *slog.Logger
	// Live is told in every event.
	Live bool
	// May tells which addresses may be sent to, judged as they are dialled. Nil:
	// those of the public internet.
	May func(netip.Addr) bool
	// Resolver resolves the names of endpoints. Nil: the system's.
	Resolver *net.Resolver
	// Telemetry is told of events and deliveries.
	Telemetry *telemetry.Telemetry
	// Mail tells a merchant that an endpoint was disabled. Nil: nobody is mailed.
	Mail func(ctx context.Context, to, subject, text string) error
}

// Store is the part of the ledger's store that is needed here.
type Store interface {
	ledger.Webhooks
	Merchant(ctx context.Context, id string) (ledger.Merchant, error)
}

const (
	// tick is how often endpoints are looked at where nobody says that there is
	// something; calm is the pause between two looks while somebody does.
	tick, calm = 100 * time.Millisecond, 10 * time.Millisecond
	// roundEvery is the pause after a round through all endpoints, roundPage how many
	// of them are looked at in a tick.
	roundEvery, roundPage = 5 * time.Second, 1000
	// maxQueues is how many endpoints one instance works on at once.
	maxQueues = 512
	// leaseFor is how long an endpoint is leased; extendEvery is how often leases
	// are extended.
	leaseFor, extendEvery = 30 * time.Second, 5 * time.Second
	// endWithin is how long requests that are on their way may take to end at Close.
	endWithin = 3 * time.Second
)

// Service delivers events.
type Service struct {
	Config

	owner string // in leases
	http  *http.Transport
	out   *writer

	poked    chan struct{} // there may be something to do
	extended chan struct{} // a lease is short
	stop     context.CancelFunc
	loops    sync.WaitGroup
	ended    chan struct{} // Close has begun
	ending   sync.Once

	mu      sync.Mutex
	queues  map[string]*queue                 // by endpoint
	feeds   map[string]*feed                  // by merchant, of those
	waiters map[string]map[chan struct{}]bool // who waits for events, by merchant
	grown   map[string]bool                   // merchants to whom something has happened since the last look
	running sync.WaitGroup                    // of queues
}

// New returns a service; [Service.Start] begins its work. It returns an error
// that names what is missing.
func New(cfg Config) (*Service, error) {
	if cfg.Store == nil || cfg.Vault == nil || cfg.Clock == nil || cfg.Logger == nil {
		return nil, errors.New("events: Store, Vault, Clock and Logger are required")
	}
	s := &Service{
		Config: cfg, owner: id.NewCapability("own_"), http: transport(cfg), poked: make(chan struct{}, 1),
		extended: make(chan struct{}, 1), ended: make(chan struct{}), queues: map[string]*queue{},
		feeds: map[string]*feed{}, waiters: map[string]map[chan struct{}]bool{}, grown: map[string]bool{},
	}
	s.out = newWriter(cfg.Store, cfg.Logger)
	return s, nil
}

// transport keeps connections for the next delivery, and dials only where it may.
func transport(cfg Config) *http.Transport {
	may := cfg.May
	if may == nil {
		may = ssrf.Public
	}
	dialer := ssrf.DialerTo(sendTimeout, may)
	dialer.Resolver = cfg.Resolver
	return &http.Transport{
		DialContext:  dialer.DialContext,
		MaxIdleConns: 4096, MaxIdleConnsPerHost: maxFlying, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: sendTimeout,
		MaxResponseHeaderBytes: 64 << 10, DisableCompression: true, ForceAttemptHTTP2: true,
	}
}

// Start begins the work. It ends with Close.
func (s *Service) Start(ctx context.Context) {
	if err := s.Store.FreeWebhookLeases(ctx); err != nil {
		s.Logger.ErrorContext(ctx, "free webhook leases", slog.String("error", err.Error())) // they lapse
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.loops.Go(func() { s.watch(ctx) })
	s.loops.Go(func() { s.extend(ctx) })
	s.out.start(ctx)
}

// Stopping is closed when the service is about to end: who waits for events stops.
func (s *Service) Stopping() <-chan struct{} { return s.ended }

// Drain ends waiting for events, and nothing else.
func (s *Service) Drain() { s.ending.Do(func() { close(s.ended) }) }

// Close ends the work: deliveries on their way have a moment to end, and those
// that do not are made again later. Close may be called twice.
func (s *Service) Close() {
	s.Drain()
	if s.stop != nil {
		s.stop()
	}
	s.loops.Wait()
	s.running.Wait()
	s.out.close()
	s.http.CloseIdleConnections()
}

// Busy is how many endpoints are worked on here.
func (s *Service) Busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queues)
}

// Poke tells that there may be something to do.
func (s *Service) Poke() { signal(s.poked) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default: // it is signalled already
	}
}

// Tap is a store that tells of the events that every change wrote.
func Tap(store ledger.Store, told func([]ledger.Event)) ledger.Store { return tapped{store, told} }

type tapped struct {
	ledger.Store

	told func([]ledger.Event)
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
		t.told(written)
	}
	return err
}
