// Package servertest starts the whole service inside a test: SQLite in a
// temporary folder, the sandbox card rail, a merchant, a clock to move.
//
//	srv := servertest.Start(t, nil)
//	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
//	ch, err := srv.Client().Charge(ctx, client.ChargeParams{Mandate: m, AmountCents: 100, Currency: client.USD, Description: "test"})
//	srv.Clock.Advance(31 * 24 * time.Hour)
//
// It is the real service over HTTP on a loopback address, nothing in it is
// imitated; it stops with the test.
package servertest

import (
	"context"
	"crypto/rand"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// Options changes what Start starts. Nil and zero fields mean the default.
type Options struct {
	// Store opens the ledger's database. Default: an SQLite file in a temporary
	// folder. Package servertest/postgres has one for PostgreSQL.
	Store func(t testing.TB) Store
	// Chain starts a chain and adds its rail: mandates can then be paid from the
	// payment method "wallet" too. Default: cards only. Package servertest/chain has a
	// development chain.
	Chain func(t testing.TB) *Chain
	// Configure may change the service's configuration before it starts, which
	// has BaseURL, Mode, Store, Rails, Clock and Mailer set. Default: unchanged.
	Configure func(*server.Config)
	// Merchant is the merchant that [Server.Client] calls as. Default: one called
	// "Acme", with a wallet if there is a chain.
	Merchant server.MerchantParams
}

// Store is the service's database in a sandbox: the card processor of the sandbox keeps
// a file of its own beside it.
type Store interface {
	store.Store
	card.SidecarStore
}

// Chain is a development chain with the test USDC at Base Sepolia's address.
type Chain struct {
	// Rail pays on the chain. The service closes it.
	Rail rail.Rail
	// PayTo is the wallet that the merchant is paid to.
	PayTo string
	// Advance moves the chain's clock forward with the service's.
	Advance func(d time.Duration)
	// RPCURL is the address of the chain's JSON-RPC.
	RPCURL string
	// ID is the chain's id.
	ID int64
	// Network is the chain's CAIP-2 name.
	Network string
	// USDC and Router are the addresses of the contracts.
	USDC, Router string
}

func openSQLite(t testing.TB) Store {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	return store
}

// Server is a running service.
type Server struct {
	*server.Server

	// URL is its base address.
	URL string
	// Merchant has an account at the service.
	Merchant server.Merchant
	// Clock is the service's clock.
	Clock *Clock
	// Chain describes the development chain. Nil: there is none.
	Chain *Chain

	client    *client.Client
	helperKey string // of the test helpers; empty: they are open

	mu    sync.Mutex
	mails []server.Message
}

// Clock is the service's clock. It goes on by itself.
type Clock struct {
	moved clock.Movable
	chain *Chain
}

// Now is the service's time.
func (c *Clock) Now() time.Time { return c.moved.Now() }

// Advance moves the service's clock forward, and the chain's with it.
func (c *Clock) Advance(d time.Duration) {
	c.moved.Advance(d)
	if c.chain != nil {
		c.chain.Advance(d)
	}
}

// Start starts a service that stops with the test. What goes wrong ends the test.
func Start(t testing.TB, o *Options) *Server {
	t.Helper()
	if o == nil {
		o = &Options{}
	}
	open := o.Store
	if open == nil {
		open = openSQLite
	}
	store := open(t)
	listener := httptest.NewUnstartedServer(nil)
	s := &Server{URL: "http://" + listener.Listener.Addr().String(), Clock: &Clock{}}
	cfg := server.Config{
		BaseURL: s.URL, Mode: server.Sandbox, Store: store, Rails: []rail.Rail{card.Sandbox(store)}, Clock: s.Clock.Now, AdvanceClock: s.Clock.Advance, Mailer: s,
		RequestsPerSecond: 10_000,
	}
	if o.Chain != nil {
		s.Chain = o.Chain(t)
		s.Clock.chain, cfg.Rails = s.Chain, append(cfg.Rails, s.Chain.Rail)
	}
	if o.Configure != nil {
		o.Configure(&cfg)
	}
	if cfg.TestHelperKey == "" && cfg.BaseURL != s.URL { // the helpers are open on a loopback address alone
		cfg.TestHelperKey = server.TestHelperKey(rand.Text())
	}
	s.helperKey = string(cfg.TestHelperKey)
	var err error
	if s.Server, err = server.New(t.Context(), cfg); err != nil {
		t.Fatalf("servertest: %v", err)
	}
	if err := s.Server.Start(t.Context()); err != nil {
		t.Fatalf("servertest: %v", err)
	}
	listener.Config.Handler = s.Server
	listener.Start()
	t.Cleanup(func() {
		listener.Close()
		if err := s.Close(); err != nil {
			t.Errorf("servertest: close: %v", err)
		}
	})
	s.hire(t, o.Merchant)
	return s
}

// hire makes the merchant and its client.
func (s *Server) hire(t testing.TB, p server.MerchantParams) {
	t.Helper()
	if p.Name == "" {
		p.Name = "Acme"
	}
	if p.PayTo == "" && s.Chain != nil {
		p.PayTo = s.Chain.PayTo
	}
	var err error
	if s.Merchant, err = s.CreateMerchant(t.Context(), p); err != nil {
		t.Fatalf("servertest: %v", err)
	}
	s.client = s.ClientOf(t, s.Merchant)
}

// Client calls the service as the merchant.
func (s *Server) Client() *client.Client { return s.client }

// ClientOf calls the service as another merchant.
func (s *Server) ClientOf(t testing.TB, m server.Merchant) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: s.URL, MerchantID: m.ID, APIKey: m.APIKey, TestHelperKey: s.helperKey})
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	return c
}

// Terms are what a mandate allows, and how it pays.
type Terms struct {
	// MaxPerTxCents limits each charge.
	MaxPerTxCents int64
	// MaxMonthlySpendCents limits the charges of a calendar month.
	MaxMonthlySpendCents int64
	// AllowedMerchantIDs. Default: the merchant alone.
	AllowedMerchantIDs []string
	// ExpiresAt. Default: in a year.
	ExpiresAt time.Time
	// PaymentMethods to connect; card.TestCards lists the cards. Default: card_visa.
	PaymentMethods []string
}

// Mandate is the token of a new mandate: the merchant asks for it and the person
// confirms.
func (s *Server) Mandate(t testing.TB, terms Terms) string {
	t.Helper()
	session, err := s.client.CreateSession(t.Context(), client.SessionParams{
		MaxPerTxCents: terms.MaxPerTxCents, MaxMonthlySpendCents: terms.MaxMonthlySpendCents,
		AllowedMerchantIDs: terms.AllowedMerchantIDs, ExpiresAt: terms.ExpiresAt,
	})
	if err != nil {
		t.Fatalf("servertest: create session: %v", err)
	}
	return s.CompleteSetup(t, session.SessionToken, terms.PaymentMethods...)
}

// CompleteSetup confirms a session as a person would, with the payment methods
// (default: card_visa), and returns the mandate's token.
func (s *Server) CompleteSetup(t testing.TB, sessionToken string, paymentMethods ...string) string {
	t.Helper()
	done, err := s.client.CompleteTestSession(t.Context(), sessionToken, client.TestCompletion{PaymentMethods: paymentMethods})
	if err != nil {
		t.Fatalf("servertest: complete session: %v", err)
	}
	return done.Mandate
}

// Mail implements server.Mailer: it keeps the message for Mails.
func (s *Server) Mail(_ context.Context, m server.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, m)
	return nil
}

// Mails are the messages sent so far, the oldest first.
func (s *Server) Mails() []server.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}
