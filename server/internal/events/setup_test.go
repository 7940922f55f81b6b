package events_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/dnstest"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/internal/events"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
	"github.com/paywarrant/paywarrant/server/vault"
	"github.com/paywarrant/paywarrant/webhook"
)

const merchant = "mer_1"

// loopback counts as an address of the public internet here, and no other one of
// the inside does.
var loopback = netip.MustParseAddr("127.0.0.1")

// bench is a service in live mode.
type bench struct {
	*events.Service

	store store.Store
	clock clock.Movable
	cfg   events.Config
}

func setup(t *testing.T, names func(name string, nth int) []netip.Addr) *bench {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	return setupOn(t, store, names)
}

// setupOn starts a service on a store, which it closes when the test ends.
func setupOn(t *testing.T, store store.Store, names func(name string, nth int) []netip.Addr) *bench {
	t.Helper()
	wrapper, err := vault.NewLocal(make([]byte, 32))
	require.NoError(t, err)
	b := &bench{store: store}
	b.cfg = events.Config{
		Store: store, Vault: vault.New(wrapper), Clock: b.clock.Now, Logger: slog.New(slog.DiscardHandler), Live: true,
		May:      func(a netip.Addr) bool { return a == loopback },
		Resolver: dnstest.Start(t, names),
	}
	b.begin(t)
	t.Cleanup(func() {
		b.Close()
		b.Close()
		require.NoError(t, store.Close())
	})
	return b
}

// begin starts the service, or another one after it.
func (b *bench) begin(t *testing.T) {
	t.Helper()
	var err error
	b.Service, err = events.New(b.cfg)
	require.NoError(t, err)
	b.Start(t.Context())
}

// endpoint adds an endpoint for the events that happen from now on.
func (b *bench) endpoint(t *testing.T, url string) store.WebhookEndpoint {
	t.Helper()
	e, _, err := b.CreateEndpoint(t.Context(), merchant, url, nil)
	require.NoError(t, err)
	return e
}

// events are so many of a mandate, that are not stored yet.
func (b *bench) events(mandate string, n int) []ledger.Event {
	list := make([]ledger.Event, n)
	for i := range list {
		at := b.clock.Now().Truncate(time.Millisecond)
		list[i] = ledger.Event{
			ID: id.New(id.Event, at), MandateID: mandate, Seq: int64(i + 1), MerchantID: merchant, Type: webhook.PaymentSucceeded,
			Data: fmt.Sprintf(`{"n":%d}`, i), CreatedAt: at,
		}
	}
	return list
}

// insert has events happen.
func (b *bench) insert(t *testing.T, list []ledger.Event) {
	t.Helper()
	b.commit(t, list)
	b.Happened(list)
}

// commit writes events without notifying the service, as another instance does.
func (b *bench) commit(t *testing.T, list []ledger.Event) {
	t.Helper()
	require.NoError(t, b.store.Update(t.Context(), ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
		return ledger.Effects{Insert: ledger.Rows{Events: list}}, nil
	}))
}

// happen has one thing happen, of a mandate of its own.
func (b *bench) happen(t *testing.T) ledger.Event {
	t.Helper()
	list := b.events(id.New(id.Mandate, b.clock.Now()), 1)
	b.insert(t, list)
	return list[0]
}

// came returns the delivery of an event to its only endpoint after so many attempts.
func (b *bench) came(t *testing.T, e ledger.Event, attempts int) (d store.Delivery) {
	t.Helper()
	require.Eventually(t, func() bool {
		all, err := b.Deliveries(t.Context(), merchant, e.ID)
		require.NoError(t, err)
		if len(all) == 1 {
			d = all[0]
		}
		return d.Attempts >= attempts
	}, time.Minute, 5*time.Millisecond)
	return d
}

// receiver is one that can be reached, and answers every time on a new connection.
func receiver(t *testing.T, answer http.HandlerFunc) (port string, taken *atomic.Int64) {
	t.Helper()
	taken = &atomic.Int64{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		taken.Add(1)
		w.Header().Set("Connection", "close")
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	_, port, found := strings.Cut(strings.TrimPrefix(srv.URL, "http://"), ":")
	require.True(t, found)
	return port, taken
}

func address(host, port string) string { return fmt.Sprintf("http://%s:%s/hooks", host, port) }
