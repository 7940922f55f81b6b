// Package proxies_test puts real caching proxies before a paywall. Whatever they
// keep, what one client paid for is served to no other, and a 402 is kept by none.
package proxies_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
	"github.com/paywarrant/paywarrant/x402"
	"github.com/paywarrant/paywarrant/x402/evm"
)

// base is the address of the site. Nothing listens there: clients are connected to
// the proxy, which has a socket of its own.
const base = "http://127.0.0.1:8402"

// site is an API, the proxy before it, and who pays.
type site struct {
	*servertest.Server

	dial   func(context.Context, string, string) (net.Conn, error)
	served atomic.Int64 // contents sold
	open   atomic.Int64 // requests of what is free and may be kept
	naive  atomic.Int64 // requests of what a careless gate stands before
}

// newSite starts the service, an API, and a proxy before the API.
func newSite(t *testing.T, start func(t *testing.T, origin string) (socket string)) *site {
	t.Helper()
	s := &site{Server: servertest.Start(t, &servertest.Options{Chain: chain.Start})}
	api := httptest.NewServer(s.api(t))
	t.Cleanup(api.Close)
	socket := start(t, strings.TrimPrefix(api.URL, "http://"))
	s.dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	return s
}

// cacheable is what a handler says that wants its answers to be kept by everybody.
func cacheable(h http.Header) {
	h.Set("Cache-Control", "public, max-age=3600, s-maxage=3600")
	h.Set("Expires", "Thu, 01 Jan 2099 00:00:00 GMT")
}

func (s *site) api(t *testing.T) http.Handler {
	t.Helper()
	gate, err := paywall.New(paywall.Config{
		Price: "0.01", PayTo: s.Merchant.PayTo, APIURL: s.URL, TestMode: true, Resource: base + "/weather",
	})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/weather", gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cacheable(w.Header())
		_, _ = fmt.Fprintf(w, "content %d", s.served.Add(1))
	})))
	mux.HandleFunc("/open", func(w http.ResponseWriter, _ *http.Request) {
		cacheable(w.Header())
		_, _ = fmt.Fprintf(w, "open %d", s.open.Add(1))
	})
	mux.HandleFunc("/naive", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(x402.HeaderPayment) == "" {
			w.WriteHeader(http.StatusPaymentRequired)
			return
		}
		cacheable(w.Header())
		_, _ = fmt.Fprintf(w, "naive %d", s.naive.Add(1))
	})
	return mux
}

// base is a transport to the proxy.
func (s *site) transport(t *testing.T) *http.Transport {
	t.Helper()
	tr := &http.Transport{DialContext: s.dial}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// buyer pays through the proxy in one way, and keeps the headers that paid.
type buyer struct {
	http.RoundTripper
	paid http.Header
}

func (b *buyer) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusOK {
		b.paid = r.Header.Clone()
	}
	return resp, err
}

func (s *site) pay(t *testing.T, way agent.Method, wallet int) (content string, paid http.Header) {
	t.Helper()
	signs, err := evm.NewWallet(evm.WalletConfig{Key: devchain.Wallets()[wallet].Key()})
	require.NoError(t, err)
	b := &buyer{RoundTripper: s.transport(t)}
	cfg := agent.Config{MaxPriceMicros: 10_000, Wallet: signs, Methods: []agent.Method{way}, Base: b}
	if way == agent.Mandate {
		cfg.Service = s.Client()
		cfg.Mandate = s.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, PaymentMethods: []string{"wallet"}})
	}
	pays, err := agent.NewTransport(cfg)
	require.NoError(t, err)
	got := s.get(t, &http.Client{Transport: pays}, "/weather", nil)
	require.Equal(t, http.StatusOK, got.status, got.text)
	return got.text, b.paid
}

type reply struct {
	status int
	header http.Header
	text   string
}

func (s *site) get(t *testing.T, c *http.Client, path string, header http.Header) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, http.NoBody)
	require.NoError(t, err)
	if header != nil {
		r.Header = header.Clone()
	}
	resp, err := c.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return reply{resp.StatusCode, resp.Header, string(text)}
}

// TestCaches: a purchase with each kind of credential is served to its buyer only.
func TestCaches(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, string) string{"haproxy": haproxy, "nginx": nginx} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, start)
			s.keeps(t)
			s.sellsToOneEach(t)
			s.sellsWhileOthersAsk(t)
		})
	}
}

// keeps shows that the proxy keeps what it may, and would open a careless gate:
// without that the rest would show nothing.
func (s *site) keeps(t *testing.T) {
	t.Helper()
	anybody := &http.Client{Transport: s.transport(t)}
	for range 3 {
		require.Equal(t, "open 1", s.get(t, anybody, "/open", nil).text)
	}
	require.EqualValues(t, 1, s.open.Load())
	require.Equal(t, http.StatusOK, s.get(t, anybody, "/naive", http.Header{"X-Payment": {"paid"}}).status)
	require.Equal(t, "naive 1", s.get(t, anybody, "/naive", nil).text, "a careless gate is opened by the cache")
}

// unpaid requires that a request is asked to pay, afresh.
func (s *site) unpaid(t *testing.T, anybody *http.Client) reply {
	t.Helper()
	got := s.get(t, anybody, "/weather", nil)
	require.Equal(t, http.StatusPaymentRequired, got.status)
	require.NotContains(t, got.text, "content")
	require.Equal(t, "no-store", got.header.Get("Cache-Control"))
	require.NotEmpty(t, got.header.Get("WWW-Authenticate"))
	return got
}

func (s *site) sellsToOneEach(t *testing.T) {
	t.Helper()
	anybody := &http.Client{Transport: s.transport(t)}
	contents := map[string]bool{}
	for _, way := range []agent.Method{agent.Mandate, agent.X402, agent.X402V1, agent.MPP} {
		before := s.unpaid(t, anybody)
		content, paid := s.pay(t, way, 1)
		require.Regexp(t, "^content [0-9]+$", content)
		require.False(t, contents[content], "%s by %s was sold before", content, way)
		contents[content] = true
		after := s.unpaid(t, anybody)
		require.NotEqual(t, before.header.Get("X-Request-Id"), after.header.Get("X-Request-Id"), "a 402 was kept")
		require.NotEqual(t, before.header.Get("WWW-Authenticate"), after.header.Get("WWW-Authenticate"), "a challenge was kept")
		again := s.get(t, anybody, "/weather", paid)
		want := http.StatusPaymentRequired
		if way == agent.X402 {
			want = http.StatusConflict // its payment-identifier is spent
		}
		require.Equal(t, want, again.status, again.text)
		require.Contains(t, again.text, "already_redeemed")
	}
}

// sellsWhileOthersAsk: those who pay and those who do not, all at once.
func (s *site) sellsWhileOthersAsk(t *testing.T) {
	t.Helper()
	anybody := &http.Client{Transport: s.transport(t)}
	var all sync.WaitGroup
	var contents sync.Map
	for i, way := range []agent.Method{agent.X402, agent.X402V1, agent.MPP, agent.X402, agent.X402V1} {
		all.Go(func() {
			content, _ := s.pay(t, way, 2+i)
			_, sold := contents.LoadOrStore(content, true)
			require.False(t, sold, content)
		})
		for range 4 {
			all.Go(func() {
				for range 5 {
					s.unpaid(t, anybody)
				}
			})
		}
	}
	all.Wait()
	require.EqualValues(t, 4+5, s.served.Load())
}
