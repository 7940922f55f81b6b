package ssrf_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

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

// TestDialRefuses: by address, by a name that resolves inside, and by redirect.
func TestDialRefuses(t *testing.T) {
	t.Parallel()
	reached := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer srv.Close()
	transport := &http.Transport{DialContext: ssrf.Dialer(time.Second).DialContext}
	defer transport.CloseIdleConnections()
	_, port, _ := strings.Cut(strings.TrimPrefix(srv.URL, "http://"), ":")
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+":"+port, nil)
		require.NoError(t, err)
		_, err = transport.RoundTrip(r)
		require.ErrorIs(t, err, ssrf.ErrForbidden, host)
	}
	require.False(t, reached)
}
