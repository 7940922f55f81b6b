package ssrf_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/internal/dnstest"
	"github.com/paywarrant/paywarrant/internal/ssrf"
)

func TestPublic(t *testing.T) {
	t.Parallel()
	for _, inside := range []string{
		"127.0.0.1", "127.255.1.2", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
		"100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
		"::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001::1", "fd00:ec2::254", "fc00::1", "fe80::1", "fe80::1%eth0", "ff02::1",
	} {
		require.False(t, ssrf.Public(netip.MustParseAddr(inside)), inside)
	}
	for _, outside := range []string{"1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "::ffff:8.8.8.8", "2606:4700::1111"} {
		require.True(t, ssrf.Public(netip.MustParseAddr(outside)), outside)
	}
	require.False(t, ssrf.Public(netip.Addr{}))
}

// TestMappedIsLikeItself: an IPv4 address is judged alike in both its forms, and
// the standard library's idea of inside is never public.
func TestMappedIsLikeItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "address")
		a := netip.AddrFrom4([4]byte(b))
		require.Equal(t, ssrf.Public(a), ssrf.Public(netip.AddrFrom16(a.As16())))
		if a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() {
			require.False(t, ssrf.Public(a))
		}
	})
}

// bench is a server inside and one that counts as outside, with a client that may
// reach the latter alone and takes names from a name server.
type bench struct {
	client          *http.Client
	inside, outside string // ports
	reached         atomic.Bool
	taken           atomic.Int64
}

// loopback counts as outside here, for there is no other address in a test.
var loopback = netip.MustParseAddr("127.0.0.1")

func setup(t *testing.T, names func(name string, nth int) []netip.Addr) *bench {
	t.Helper()
	b := &bench{}
	serve := func(h http.HandlerFunc) string {
		srv := httptest.NewServer(h)
		t.Cleanup(srv.Close)
		_, port, _ := strings.Cut(strings.TrimPrefix(srv.URL, "http://"), ":")
		return port
	}
	b.inside = serve(func(http.ResponseWriter, *http.Request) { b.reached.Store(true) })
	b.outside = serve(func(w http.ResponseWriter, r *http.Request) {
		b.taken.Add(1)
		w.Header().Set("Connection", "close")
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		}
	})
	d := ssrf.DialerTo(20*time.Second, func(a netip.Addr) bool { return a == loopback || ssrf.Public(a) })
	d.Resolver = dnstest.Start(t, names)
	transport := &http.Transport{DialContext: d.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	b.client = &http.Client{Transport: transport}
	return b
}

func (b *bench) get(t *testing.T, url string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	resp, err := b.client.Do(r)
	if err == nil {
		require.NoError(t, resp.Body.Close())
	}
	return err
}

// TestDialRefuses: what is inside, in each way to write it.
func TestDialRefuses(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	t.Cleanup(srv.Close)
	_, port, _ := strings.Cut(strings.TrimPrefix(srv.URL, "http://"), ":")
	transport := &http.Transport{DialContext: ssrf.Dialer(20 * time.Second).DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "0.0.0.0", "[::]", "[64:ff9b::7f00:1]"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+":"+port, nil)
		require.NoError(t, err)
		_, err = transport.RoundTrip(r)
		require.ErrorIs(t, err, ssrf.ErrForbidden, host)
	}
	require.False(t, reached.Load())
}

// TestNamesThatLeadInside: one that resolves inside is refused; of one that
// resolves inside and outside, the outside is dialled.
func TestNamesThatLeadInside(t *testing.T) {
	t.Parallel()
	inside := map[string]string{
		"loopback.example": "127.0.0.2", "private.example": "10.0.0.1", "metadata.example": "169.254.169.254", "own.example": "fd00::1",
		"link.example": "fe80::1", "mapped.example": "::ffff:127.0.0.2", "nat64.example": "64:ff9b::a00:1", "six.example": "::1",
	}
	b := setup(t, func(name string, _ int) []netip.Addr {
		if name == "both.example" {
			return []netip.Addr{netip.MustParseAddr("10.0.0.1"), loopback}
		}
		return []netip.Addr{netip.MustParseAddr(inside[name])}
	})
	for name := range inside {
		require.ErrorIs(t, b.get(t, "http://"+name+":"+b.inside), ssrf.ErrForbidden, name)
	}
	require.NoError(t, b.get(t, "http://both.example:"+b.outside))
	require.False(t, b.reached.Load())
	require.EqualValues(t, 1, b.taken.Load())
}

// TestRebinding: a name that resolves outside first and inside then: what is
// dialled is what was judged.
func TestRebinding(t *testing.T) {
	t.Parallel()
	b := setup(t, func(_ string, nth int) []netip.Addr {
		if nth == 0 {
			return []netip.Addr{loopback}
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.2")}
	})
	require.NoError(t, b.get(t, "http://rebinds.example:"+b.outside))
	require.ErrorIs(t, b.get(t, "http://rebinds.example:"+b.outside), ssrf.ErrForbidden)
	require.EqualValues(t, 1, b.taken.Load())
}

// TestRedirectInside: a client that follows a redirect is stopped there.
func TestRedirectInside(t *testing.T) {
	t.Parallel()
	b := setup(t, func(string, int) []netip.Addr { return []netip.Addr{netip.MustParseAddr("::1")} })
	for _, host := range []string{"127.0.0.2", "[::1]", "inside.example", "169.254.169.254"} {
		to := "http://127.0.0.1:" + b.outside + "/?to=" + url.QueryEscape("http://"+host+":"+b.inside)
		require.ErrorIs(t, b.get(t, to), ssrf.ErrForbidden, host)
	}
	require.False(t, b.reached.Load())
	require.EqualValues(t, 4, b.taken.Load())
}
