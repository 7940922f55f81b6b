// Package server is the reference service: setup sessions, mandates, charges and
// the pages around them, as one http.Handler.
//
//	store, err := sqlite.Open(ctx, "pay.db")
//	srv, err := server.New(ctx, server.Config{
//		BaseURL: "https://pay.example", Mode: server.Sandbox, Store: store, Rails: []rail.Rail{card.Sandbox(store)},
//	})
//	err = srv.Start(ctx) // background work
//	defer srv.Close()
//	http.ListenAndServe(":8080", srv)
//
// It owns no listener, reads no environment, handles no signal and registers
// nothing global: everything comes in through [Config]. Tests start the whole
// system with package servertest.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paywarrant/paywarrant/internal/audit"
	"github.com/paywarrant/paywarrant/internal/clientaddr"
	"github.com/paywarrant/paywarrant/internal/httplog"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/internal/account"
	"github.com/paywarrant/paywarrant/server/internal/api"
	"github.com/paywarrant/paywarrant/server/internal/dashboard"
	"github.com/paywarrant/paywarrant/server/internal/events"
	"github.com/paywarrant/paywarrant/server/internal/facilitator"
	"github.com/paywarrant/paywarrant/server/internal/keys"
	"github.com/paywarrant/paywarrant/server/internal/mail"
	"github.com/paywarrant/paywarrant/server/internal/market"
	"github.com/paywarrant/paywarrant/server/internal/payment"
	"github.com/paywarrant/paywarrant/server/internal/recorder"
	"github.com/paywarrant/paywarrant/server/internal/signin"
	"github.com/paywarrant/paywarrant/server/internal/site"
	"github.com/paywarrant/paywarrant/server/internal/status"
	"github.com/paywarrant/paywarrant/server/internal/tools"
	"github.com/paywarrant/paywarrant/server/internal/upkeep"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/x402"
)

// Server is the service. It is an http.Handler.
type Server struct {
	config   Config
	ledger   *ledger.Ledger
	keys     *keys.Keys
	statuses *status.Lists
	payments *payment.Service
	upkeep   *upkeep.Upkeep
	mails    *mail.Queue // nil without Mailer
	market   *market.Market
	signIns  *signin.Service

	dashboard *dashboard.Dashboard
	events    *events.Service
	accounts  *account.Accounts
	recorder  *recorder.Recorder
	audit     *audit.Log
	tools     *tools.Tools
	handler   http.Handler

	started, draining atomic.Bool

	mu       sync.Mutex
	closed   bool
	requests sync.WaitGroup
	closing  sync.Once
	closeErr error
}

// New returns a Server. It reads the signing keys in the store, or generates them. The
// Server accepts requests after [Server.Start]. The returned error names the invalid field;
// the caller then closes the store and the rails.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	record := recorder.New(cfg.Metrics, cfg.Traces)
	cfg.Logger = record.Logs(cfg.Logger)
	s := &Server{config: cfg, recorder: record}
	if err := cfg.claim(ctx); err != nil {
		return nil, err
	}
	box := vault.New(cfg.Wrapper)
	var err error
	if s.keys, err = keys.Open(ctx, keys.Config{Store: cfg.Store, Vault: box, Clock: cfg.Clock, Logger: cfg.Logger}); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	receipts, err := s.keys.Secret(ctx, "receipts")
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	router, err := rail.NewRouter(cfg.Rails)
	if err != nil {
		return nil, fmt.Errorf("server: Rails: %w", err)
	}
	router.OnAttempt = s.recorder.Attempt
	s.queueMails()
	if err := s.openSignIns(ctx); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.events, err = events.New(events.Config{
		Store: cfg.Store, Vault: box, Clock: cfg.Clock, Logger: cfg.Logger, Live: cfg.Mode == Live, May: cfg.receivers(), Resolver: cfg.Resolver,
		MailDisabled: s.post(endpointDisabled), Telemetry: s.recorder,
	})
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if s.ledger, err = ledger.New(ledger.Config{Store: events.Tap(s.recorder.Store(cfg.Store, cfg.Clock), s.events.Happened), Clock: cfg.Clock, OnPanic: s.panicked}); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.write(endpointDisabled, s.events.Disabled)
	s.upkeep = upkeep.New(upkeep.Config{
		Ledger: s.ledger, Store: cfg.Store, Clock: cfg.Clock, Logger: cfg.Logger, Telemetry: s.recorder, Movable: cfg.Mode == Sandbox,
		Reconcile: s.reconcile, ReconcileEvery: cfg.ReconcileEvery,
		Follow: s.followNotices(),
	})
	s.accounts = account.New(account.Config{Store: cfg.Store, Clock: cfg.Clock, Logger: cfg.Logger, Live: cfg.Mode == Live})
	places, err := s.keys.Secret(ctx, "mandate-ids")
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	s.statuses = status.New(status.Config{Store: cfg.Store, Signer: s.keys.Signer, BaseURL: cfg.BaseURL, Clock: cfg.Clock, Secret: places})
	s.payments = payment.New(payment.Config{
		Ledger: s.ledger, Accounts: cfg.Store, Rails: router, Vault: box, Clock: cfg.Clock, Logger: cfg.Logger,
		Issuer:   &mandate.Issuer{URL: cfg.BaseURL, Signer: s.keys.Signer},
		Verifier: &mandate.Verifier{Issuer: cfg.BaseURL, Keys: s.keys, Clock: cfg.Clock, IgnoreTimes: true},
		Statuses: s.statuses, BaseURL: cfg.BaseURL, ReceiptKey: receipts, Telemetry: s.recorder, TabBlock: money.Micros(cfg.TabCents) * money.MicrosPerCent,
		MaxAdvance: money.Micros(cfg.MaxTabAdvanceCents) * money.MicrosPerCent,
	})
	s.connect(cfg.Rails)
	if s.handler, err = s.routes(ctx); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if err := s.register(); err != nil {
		return nil, fmt.Errorf("server: Metrics: %w", err)
	}
	return s, nil
}

// claim compares the clock with that of the store, and makes the store this service's.
func (cfg Config) claim(ctx context.Context) error {
	compared := cfg.Clock
	if cfg.Mode == Sandbox { // its clock can be moved
		compared = time.Now
	}
	if _, err := upkeep.CheckClock(ctx, cfg.Store, compared); err != nil {
		return fmt.Errorf("server: Clock: %w", err)
	}
	if err := ledger.Own(ctx, cfg.Store, string(cfg.Mode), cfg.BaseURL, cfg.movedAloud); err != nil {
		return fmt.Errorf("server: Store: %w", err)
	}
	return nil
}

// connect lets the rails report revocations, changes and payments that came undone, and gives those of
// a sandbox the service's clock.
func (s *Server) connect(rails []rail.Rail) {
	for _, r := range rails {
		if t, ok := r.(rail.Timed); ok && s.config.Mode == Sandbox {
			t.UseClock(s.config.Clock)
		}
		if w, ok := r.(rail.Watcher); ok {
			w.OnRevoked(s.payments.RevokedOnRail)
		}
		if u, ok := r.(rail.Reversible); ok {
			u.OnUndone(s.payments.UndoneOnRail)
		}
		if n, ok := r.(rail.Notifier); ok {
			n.OnChanged(s.payments.ChangedOnRail)
		}
	}
}

// panicked reports a command of the ledger that panicked.
func (s *Server) panicked(value any, stack []byte) {
	s.recorder.Panicked()
	s.config.Logger.Error("ledger command panicked", slog.String("panic", fmt.Sprint(value)), slog.String("stack", string(stack)))
}

// register creates the metrics, with the gauges of the packages and the rails. It is the
// last step of New, so that New can be called again with the same registry if it failed.
func (s *Server) register() error {
	all := []rail.Gauge{{
		Name: "webhook_endpoints_busy", Help: "Webhook endpoints that are worked on here.",
		Value: func() float64 { return float64(s.events.Busy()) },
	}}
	all = append(all, s.payments.Gauges()...)
	for _, r := range s.config.Rails {
		if g, ok := r.(rail.Gauger); ok {
			all = append(all, g.Gauges()...)
		}
	}
	return s.recorder.Register(all...)
}

// routes registers the packages of the service on one mux.
func (s *Server) routes(ctx context.Context) (http.Handler, error) {
	cfg, mux := s.config, http.NewServeMux()
	s.audit = audit.New(cfg.Logger, cfg.Clock)
	s.market = s.newMarket()
	merchantAPI := api.New(api.Config{
		Audit: s.audit, Market: s.market,
		Payments: s.payments, Accounts: s.accounts, Clock: cfg.Clock, Logger: cfg.Logger, DocsURL: cfg.DocsURL,
		Limits: api.Limits{PerSecond: cfg.RequestsPerSecond, PerAddress: cfg.AnonymousPerSecond}, Loopback: cfg.Mode == Sandbox, Sandbox: s.sandbox(),
		Webhooks: s.events, Resource: cfg.BaseURL + "/v1",
	})
	merchantAPI.Register(mux)
	look := site.New(site.Config{BaseURL: cfg.BaseURL, Sandbox: cfg.Mode == Sandbox, Clock: cfg.Clock, Logger: cfg.Logger, PerAddress: cfg.AnonymousPerSecond})
	look.Register(mux)
	s.newPages(look).Register(mux)
	s.market.RegisterPage(mux, look)
	s.dashboard = s.newDashboard(look)
	s.dashboard.Register(mux)
	mux.Handle("GET /.well-known/jwks.json", s.keys.Set.Handler())
	mux.Handle("GET /.well-known/jwt-vc-issuer", mandate.IssuerHandler(cfg.BaseURL, cfg.BaseURL+"/.well-known/jwks.json"))
	mux.Handle("GET /status-lists/{list}", s.statuses)
	for _, r := range cfg.Rails {
		if from, ok := r.(rail.Receiver); ok && r.Name() == rail.Card {
			mux.Handle("POST /rails/card/events", from.Events())
		}
	}
	mux.HandleFunc("GET /healthz", s.healthy)
	mux.HandleFunc("GET /readyz", s.ready)
	if err := s.facilitate(mux, merchantAPI); err != nil {
		return nil, err
	}
	if err := s.serveTools(mux, merchantAPI); err != nil {
		return nil, err
	}
	if err := s.authorize(ctx, mux, look); err != nil {
		return nil, err
	}
	missing := look.MissingOr(merchantAPI.NotFound)
	mux.HandleFunc("/", missing)
	served := s.untilClosed(readablePath(mux, missing), http.HandlerFunc(merchantAPI.Stopping))
	return httplog.Wrap(httplog.Config{
		Logger: cfg.Logger, NewID: func() string { return id.New(id.Request, time.Now()) }, Panicked: merchantAPI.Panicked,
		Watch: s.recorder.Request, ClientAddr: clientaddr.Proxies(cfg.TrustedProxies).Client,
	}, protected(served)), nil
}

// facilitate adds the x402 facilitator if a rail settles signed transfers.
func (s *Server) facilitate(mux *http.ServeMux, merchantAPI *api.API) error {
	for _, r := range s.config.Rails {
		settler, ok := r.(facilitator.Settler)
		if !ok {
			continue
		}
		f, err := facilitator.New(facilitator.Config{
			Settler: settler, Transfers: s.payments.Transfers, Clock: s.config.Clock, Logger: s.config.Logger, PerSecond: s.config.RequestsPerSecond,
			PerAddress: s.config.AnonymousPerSecond, Merchant: merchantAPI.Merchant, Payee: s.merchantAt, Paid: s.market.Paid,
		})
		if err != nil {
			return err
		}
		f.Register(mux, merchantAPI.OtherMethods)
		return nil
	}
	return nil
}

// merchantAt returns the id of the merchant who is paid at a wallet, or an empty string.
func (s *Server) merchantAt(ctx context.Context, payTo string) (string, error) {
	wallet, err := x402.ParseAddress(payTo)
	if err != nil {
		return "", nil //nolint:nilerr // no merchant is paid there
	}
	m, err := s.accounts.Store.MerchantByWallet(ctx, wallet)
	if errors.Is(err, ledger.ErrNotFound) {
		return "", nil
	}
	return m.ID, err
}

// untilClosed lets Close wait for requests, and refuses those that come later.
func (s *Server) untilClosed(next, stopping http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		closed := s.closed
		if !closed {
			s.requests.Add(1)
		}
		s.mu.Unlock()
		if closed {
			stopping.ServeHTTP(w, r)
			return
		}
		defer s.requests.Done()
		next.ServeHTTP(w, r)
	})
}

// sandbox is what the test helpers act on; nil in live mode.
func (s *Server) sandbox() *api.Sandbox {
	if s.config.Mode != Sandbox {
		return nil
	}
	box := &api.Sandbox{Key: string(s.config.TestHelperKey), Open: s.config.onLoopback(), Advance: s.config.AdvanceClock}
	box.NewMerchant = func(ctx context.Context, n api.TestMerchant) (ledger.Merchant, string, error) {
		c, err := s.accounts.Create(ctx, account.NewMerchant{Name: n.Name, MaxCharge: n.MaxCharge, Inactive: n.Inactive})
		return c.Merchant, c.APIKey, err
	}
	return box
}

func (s *Server) methods(of ...rail.Name) []rail.Method {
	var methods []rail.Method
	for _, r := range s.config.Rails {
		if o, ok := r.(rail.Offerer); ok && slices.Contains(of, r.Name()) {
			methods = append(methods, o.Methods()...)
		}
	}
	return methods
}

// ServeHTTP serves the whole service.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Start starts the background work, beginning with the charges that an earlier process left
// pending. The work ends with [Server.Close], not with ctx.
func (s *Server) Start(ctx context.Context) error {
	if err := s.config.Store.Ping(ctx); err != nil {
		return fmt.Errorf("server: store: %w", err)
	}
	for _, r := range s.config.Rails {
		if st, ok := r.(rail.Starter); ok {
			if err := st.Start(ctx); err != nil {
				return fmt.Errorf("server: start %s: %w", r.Name(), err)
			}
		}
	}
	s.audit.Keep(s.keepAudit)
	s.keys.Start(ctx)
	if err := s.payments.Start(ctx); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.upkeep.Start(ctx)
	s.mails.Start(ctx)
	s.events.Start(ctx)
	s.market.Start(ctx)
	s.started.Store(true)
	return nil
}

// Close waits for running requests, ends the background work, and closes the rails and the
// store. Later requests receive 503. Close may be called twice.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.Drain()
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.events.Drain()
		s.requests.Wait()
		s.dashboard.Close()
		s.tools.Close()
		s.audit.Close()
		s.payments.Close()
		s.upkeep.Close()
		s.market.Close()
		s.events.Close()
		s.mails.Close()
		s.keys.Close()
		s.ledger.Close()
		for _, r := range s.config.Rails {
			if c, ok := r.(io.Closer); ok {
				s.closeErr = errors.Join(s.closeErr, c.Close())
			}
		}
		s.closeErr = errors.Join(s.closeErr, s.config.Store.Close())
	})
	return s.closeErr
}

func (s *Server) healthy(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, "ok\n") // the client may have gone
}

// Drain makes /readyz answer 503, so that load balancers send no more requests here.
// Requests that come all the same are answered as before, until [Server.Close].
func (s *Server) Drain() { s.draining.Store(true) }

// ready is about this instance alone: a fault in the ledger is no reason for a load
// balancer to take all instances out.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	switch {
	case !s.started.Load():
		http.Error(w, "not started", http.StatusServiceUnavailable)
		return
	case s.draining.Load():
		http.Error(w, "stopping", http.StatusServiceUnavailable)
		return
	}
	if err := s.config.Store.Ping(r.Context()); err != nil {
		http.Error(w, "store does not answer", http.StatusServiceUnavailable)
		return
	}
	s.healthy(w, r)
}

// CheckLedger recomputes every counter and total from the postings and reports
// what does not agree.
func (s *Server) CheckLedger(ctx context.Context) (ledger.Report, error) {
	return ledger.CheckAt(ctx, s.config.Store, s.config.Clock())
}
