package events

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/server/internal/events/delivery"
	"github.com/paywarrant/paywarrant/server/internal/events/sender"
	"github.com/paywarrant/paywarrant/server/internal/recorder"
	"github.com/paywarrant/paywarrant/server/ledger"
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
	// MailDisabled queues [Service.Disabled] of an endpoint. Default: no mail is sent.
	MailDisabled func(ctx context.Context, endpointID string)
}

// Store is the part of the store that is used here.
type Store interface {
	delivery.Store
	Event(ctx context.Context, id string) (ledger.Event, error)
	Events(ctx context.Context, merchantID string, since time.Time, before, after int64, limit int) ([]ledger.Event, error)
}

// Service delivers events.
type Service struct {
	Config

	sender    *sender.Sender
	deliverer *delivery.Deliverer

	drained context.Context // ends when Drain or Close begins
	drain   context.CancelFunc

	mu      sync.Mutex
	waiting map[string]chan struct{} // by merchant; closed when there are new events
}

// New returns a service; [Service.Start] begins its work. The returned error says which
// fields are required.
func New(cfg Config) (*Service, error) {
	if cfg.Store == nil || cfg.Vault == nil || cfg.Clock == nil || cfg.Logger == nil {
		return nil, errors.New("events: Store, Vault, Clock and Logger are required")
	}
	s := &Service{Config: cfg, waiting: map[string]chan struct{}{}}
	s.sender = sender.New(sender.Config{
		Vault: cfg.Vault, Live: cfg.Live, May: cfg.May, Resolver: cfg.Resolver, Connections: delivery.MaxInFlight,
	})
	s.deliverer = delivery.New(delivery.Config{
		Store: cfg.Store, Sender: s.sender, Clock: cfg.Clock, Logger: cfg.Logger, Telemetry: cfg.Telemetry, MailDisabled: cfg.MailDisabled,
	})
	s.drained, s.drain = context.WithCancel(context.Background())
	return s, nil
}

// Start begins the work. It ends with Close.
func (s *Service) Start(ctx context.Context) { s.deliverer.Start(ctx) }

// Drain ends waiting for events, and nothing else.
func (s *Service) Drain() { s.drain() }

// Close ends the work. Requests in flight have a moment to end; those that do not are
// made again later. Close may be called twice.
func (s *Service) Close() {
	s.Drain()
	s.deliverer.Close()
	s.sender.Close()
}

// Busy returns how many endpoints this instance has on lease.
func (s *Service) Busy() int { return s.deliverer.Busy() }

// Happened is called with events that are committed.
func (s *Service) Happened(events []ledger.Event) {
	s.deliverer.Happened(events)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range events {
		if grown := s.waiting[e.MerchantID]; grown != nil {
			close(grown)
			delete(s.waiting, e.MerchantID)
		}
	}
}

// grown returns a channel that is closed at the merchant's next event.
func (s *Service) grown(merchantID string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[merchantID] == nil {
		s.waiting[merchantID] = make(chan struct{})
	}
	return s.waiting[merchantID]
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
