// Package servertest starts the whole service inside a test, with SQLite in a temporary
// folder, the sandbox card rail, a merchant, and a clock that the test moves.
//
//	srv := servertest.Start(t, nil)
//	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
//	ch, err := srv.Client().Charge(ctx, client.ChargeParams{Mandate: m, AmountCents: 100, Currency: client.USD, Description: "test"})
//	srv.Clock.Advance(31 * 24 * time.Hour)
//
// The service is the real one, over HTTP on a loopback address, and contains no fakes. It
// stops when the test ends.
package servertest

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http/httptest"
	"os"
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

// Options configures [Start]. Nil and zero fields have the defaults.
type Options struct {
	// Store opens the service's database. Default: an SQLite file in a temporary folder.
	// Package servertest/postgres opens a PostgreSQL database.
	Store func(t testing.TB) Store
	// Chain starts a chain, whose rail adds the payment method "wallet". Package
	// servertest/chain starts a development chain. Default: cards only.
	Chain func(t testing.TB) *Chain
	// Configure changes the service's configuration before the service starts. BaseURL,
	// Mode, Store, Rails, Clock and Mailer are already set. Default: no change.
	Configure func(*server.Config)
	// Merchant is the merchant whose credentials [Server.Client] uses. Default: a merchant
	// named "Acme", with a wallet if there is a chain.
	Merchant server.MerchantParams
}

// Store is the database of a sandbox. The sandbox's card processor stores its file beside
// it.
type Store interface {
	store.Store
	card.SidecarStore
}

// Chain is a development chain with the test USDC at Base Sepolia's address.
type Chain struct {
	// Rail pays on the chain. The service closes it.
	Rail rail.Rail
	// PayTo is the merchant's wallet.
	PayTo string
	// Advance moves the chain's clock forward. [Clock.Advance] calls it.
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

// openSQLite opens a copy of [emptyFile], because the migrations cost more than the rest of
// [Start].
func openSQLite(t testing.TB) Store {
	t.Helper()
	file, err := emptyFile()
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	path := filepath.Join(t.TempDir(), "pay.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatalf("servertest: %v", err)
	}
	store, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	return store
}

// emptyFile returns the content of an SQLite file that has the schema and no rows.
var emptyFile = sync.OnceValues(func() (_ []byte, err error) {
	folder, err := os.MkdirTemp("", "servertest")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "empty.db")
	store, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	if err := store.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Server is a running service.
type Server struct {
	*server.Server

	// URL is the service's base URL.
	URL string
	// Merchant is the merchant of [Server.Client], with its API key.
	Merchant server.Merchant
	// Clock is the service's clock.
	Clock *Clock
	// Chain is the chain of [Options], or nil.
	Chain *Chain

	client    *client.Client
	helperKey string // key of the test helpers; empty if they need none

	mu    sync.Mutex
	mails []server.Message
}

// Clock is the service's clock. It runs like a real clock, and [Clock.Advance] moves it
// forward.
type Clock struct {
	moved clock.Movable
	chain *Chain
}

// Now returns the service's current time.
func (c *Clock) Now() time.Time { return c.moved.Now() }

// Advance moves the clocks of the service and the chain forward.
func (c *Clock) Advance(d time.Duration) {
	c.moved.Advance(d)
	if c.chain != nil {
		c.chain.Advance(d)
	}
}

// Start starts a service that stops when the test ends. A failure ends the test.
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

// hire creates the merchant and its client.
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

// Client returns a client with the merchant's credentials.
func (s *Server) Client() *client.Client { return s.client }

// ClientOf returns a client with the credentials of another merchant.
func (s *Server) ClientOf(t testing.TB, m server.Merchant) *client.Client {
	t.Helper()
	c, err := client.New(client.Config{BaseURL: s.URL, MerchantID: m.ID, APIKey: m.APIKey, TestHelperKey: s.helperKey})
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	return c
}

// Terms are the limits and payment methods of a mandate.
type Terms struct {
	// MaxPerTxCents limits each charge.
	MaxPerTxCents int64
	// MaxMonthlySpendCents limits the charges of a calendar month.
	MaxMonthlySpendCents int64
	// FurtherLimits are further limits. Default: none.
	client.FurtherLimits
	// AllowedMerchantIDs lists the merchants that the mandate may pay. Default: the merchant.
	AllowedMerchantIDs []string
	// ExpiresAt is when the mandate expires. Default: in a year.
	ExpiresAt time.Time
	// PaymentMethods lists the payment methods to connect, such as those of
	// card.TestCards. Default: card_visa.
	PaymentMethods []string
}

// Mandate creates a mandate, as if the merchant requested it and a person confirmed it, and
// returns its token.
func (s *Server) Mandate(t testing.TB, terms Terms) string {
	t.Helper()
	session, err := s.client.CreateSession(t.Context(), client.SessionParams{
		MaxPerTxCents: terms.MaxPerTxCents, MaxMonthlySpendCents: terms.MaxMonthlySpendCents,
		FurtherLimits: terms.FurtherLimits, AllowedMerchantIDs: terms.AllowedMerchantIDs, ExpiresAt: terms.ExpiresAt,
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

// Mail implements [server.Mailer]. It stores the message for [Server.Mails].
func (s *Server) Mail(_ context.Context, m server.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, m)
	return nil
}

// Mails returns the messages sent so far, oldest first. A message is sent in the background,
// soon after what it is about.
func (s *Server) Mails() []server.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mails)
}
