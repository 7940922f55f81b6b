package events_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/internal/ssrf"
	"github.com/paywarrant/paywarrant/server/internal/events"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// lineBench is a line to a receiver that can be told to hang up.
type lineBench struct {
	*events.Line

	shared *http.Transport
	srv    *httptest.Server

	hangUp atomic.Bool

	mu   sync.Mutex
	seen seen
}

// seen is what a receiver saw.
type seen struct {
	from   []string // whom each request came from
	bodies []string
	hung   int // how often it hung up
}

func lineTo(t *testing.T) *lineBench {
	t.Helper()
	b := &lineBench{shared: &http.Transport{}}
	b.srv = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.hangUp.Swap(false) || err != nil {
			b.seen.hung++
			panic(http.ErrAbortHandler)
		}
		b.seen.from, b.seen.bodies = append(b.seen.from, r.RemoteAddr), append(b.seen.bodies, string(body))
	}))
	b.Line = events.NewLine(b.shared)
	t.Cleanup(func() {
		b.Line.Close()
		b.shared.CloseIdleConnections()
		b.srv.Close()
	})
	return b
}

func (b *lineBench) request(ctx context.Context, t *testing.T, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.srv.URL, strings.NewReader(body))
	require.NoError(t, err)
	return r
}

func (b *lineBench) send(ctx context.Context, t *testing.T, body string) error {
	t.Helper()
	resp, err := b.RoundTrip(b.request(ctx, t, body))
	if err != nil {
		return err
	}
	require.Equal(t, http.StatusOK, resp.StatusCode)
	return resp.Body.Close()
}

// saw is what the receiver has seen so far.
func (b *lineBench) saw() seen {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

// TestALineOfItsOwn: what goes over it does not use the shared connections; where it
// breaks, what it was to bring goes over those, whole, and the next is another one.
func TestALineOfItsOwn(t *testing.T) {
	t.Parallel()
	b, ctx := lineTo(t), t.Context()
	require.NoError(t, b.send(ctx, t, "shared"))
	b.Open(b.request(ctx, t, ""))
	for range 3 {
		require.NoError(t, b.send(ctx, t, "own"))
		b.shared.CloseIdleConnections()
		b.Open(b.request(ctx, t, ""))
	}
	from := b.saw().from
	require.Equal(t, []string{from[1], from[1]}, from[2:])
	require.NotEqual(t, from[0], from[1])

	b.hangUp.Store(true)
	require.NoError(t, b.send(ctx, t, "again"))
	require.Equal(t, 1, b.saw().hung)
	require.Equal(t, []string{"shared", "own", "own", "own", "again"}, b.saw().bodies)
	require.NotEqual(t, from[1], b.saw().from[4])

	b.Open(b.request(ctx, t, ""))
	require.NoError(t, b.send(ctx, t, "another"))
	from = b.saw().from
	require.NotContains(t, from[:5], from[5])
}

// TestANewLineThatBreaksFails: nothing tells that it was not the receiver who failed.
func TestANewLineThatBreaksFails(t *testing.T) {
	t.Parallel()
	b := lineTo(t)
	b.Open(b.request(t.Context(), t, ""))
	b.hangUp.Store(true)
	require.Error(t, b.send(t.Context(), t, "lost"))
	require.Equal(t, 1, b.saw().hung)
	require.Empty(t, b.saw().bodies)
	require.NoError(t, b.send(t.Context(), t, "next"))
}

// TestALineThatWasGivenUpFails: what was stopped is not sent again.
func TestALineThatWasGivenUpFails(t *testing.T) {
	t.Parallel()
	b := lineTo(t)
	b.Open(b.request(t.Context(), t, ""))
	require.NoError(t, b.send(t.Context(), t, "first"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, b.send(ctx, t, "stopped"), context.Canceled)
	require.Equal(t, []string{"first"}, b.saw().bodies)
}

// TestNoLineIsNotTheEnd: why there is none is told by the shared connections, which
// dial by the same rules.
func TestNoLineIsNotTheEnd(t *testing.T) {
	t.Parallel()
	b := lineTo(t)
	allowed := false
	dialer := ssrf.DialerTo(time.Minute, func(netip.Addr) bool { return allowed })
	b.shared.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, to)
	}
	b.Open(b.request(t.Context(), t, ""))
	require.ErrorIs(t, b.send(t.Context(), t, "inside"), ssrf.ErrForbidden)
	allowed = true
	require.NoError(t, b.send(t.Context(), t, "outside"))
	require.Equal(t, []string{"outside"}, b.saw().bodies)
}

// TestABusyEndpointSeesFewConnections: those that go out at once have one each, and
// none is left in the end.
func TestABusyEndpointSeesFewConnections(t *testing.T) {
	t.Parallel()
	const mandates, each, most = 40, 50, 32 + 8
	var (
		mu     sync.Mutex
		opened = map[net.Conn]bool{}
		open   int
		taken  = map[string]int{}
	)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		taken[r.Header.Get("webhook-id")]++
	}))
	srv.Config.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		switch state {
		case http.StateNew:
			opened[c] = true
			open++
		case http.StateClosed:
			open--
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	b := setup(t, only("127.0.0.1"))
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	require.NoError(t, err)
	b.endpoint(t, address("hooks.example", port))
	var all []ledger.Event
	for range mandates {
		all = append(all, b.events(id.New(id.Mandate, b.clock.Now()), each)...)
	}
	b.insert(t, all)
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(taken) == mandates*each
	}, time.Minute, 5*time.Millisecond)
	b.Close()
	require.Eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return open == 0
	}, time.Minute, 5*time.Millisecond)
	require.LessOrEqual(t, len(opened), most)
	for key, times := range taken {
		require.Equal(t, 1, times, key)
	}
}
