package clientaddr_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/clientaddr"
)

func request(peer string, headers ...string) *http.Request {
	r := &http.Request{RemoteAddr: peer, Header: http.Header{}}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

const (
	listed    = "X-Forwarded-For"
	forwarded = "Forwarded"
)

func TestClientIsTheLastHopThatIsNoTrustedProxy(t *testing.T) {
	t.Parallel()
	proxies := clientaddr.Proxies{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:1::/48")}
	for name, c := range map[string]struct {
		request *http.Request
		want    string
	}{
		"no proxy":                  {request("203.0.113.9:1234"), "203.0.113.9"},
		"a stranger's header":       {request("203.0.113.9:1234", listed, "198.51.100.1", forwarded, "for=198.51.100.1"), "203.0.113.9"},
		"one proxy":                 {request("10.0.0.1:80", listed, "198.51.100.1"), "198.51.100.1"},
		"spoofed by the client":     {request("10.0.0.1:80", listed, "192.0.2.66, 198.51.100.1"), "198.51.100.1"},
		"two headers":               {request("10.0.0.1:80", listed, "192.0.2.66", listed, "198.51.100.1"), "198.51.100.1"},
		"two proxies":               {request("10.0.0.1:80", listed, "198.51.100.1, 10.0.0.2"), "198.51.100.1"},
		"all are proxies":           {request("10.0.0.1:80", listed, "10.0.0.3, 10.0.0.2"), "10.0.0.3"},
		"no header":                 {request("10.0.0.1:80"), "10.0.0.1"},
		"a hop that is no address":  {request("10.0.0.1:80", listed, "198.51.100.1, unknown, 10.0.0.2"), "10.0.0.2"},
		"garbage":                   {request("10.0.0.1:80", listed, "what"), "10.0.0.1"},
		"with a port":               {request("10.0.0.1:80", listed, "198.51.100.1:4711"), "198.51.100.1"},
		"IPv6 with a port":          {request("[2001:db8:1::1]:80", listed, "[2001:db8:9::7]:4711"), "2001:db8:9::7"},
		"IPv6 in brackets":          {request("10.0.0.1:80", listed, "[2001:db8:9::7]"), "2001:db8:9::7"},
		"IPv4 within IPv6":          {request("[::ffff:10.0.0.1]:80", listed, "::ffff:198.51.100.1"), "198.51.100.1"},
		"Forwarded":                 {request("10.0.0.1:80", forwarded, `For=192.0.2.66, for="[2001:db8:9::7]:47"; proto=https`), "2001:db8:9::7"},
		"Forwarded without for":     {request("10.0.0.1:80", forwarded, `for=192.0.2.66, proto=https`), "10.0.0.1"},
		"Forwarded, obfuscated":     {request("10.0.0.1:80", forwarded, `for=_hidden`), "10.0.0.1"},
		"both agree":                {request("10.0.0.1:80", forwarded, `for=198.51.100.1`, listed, "198.51.100.1"), "198.51.100.1"},
		"one of both is a client's": {request("10.0.0.1:80", forwarded, `for=192.0.2.66`, listed, "198.51.100.1"), "10.0.0.1"},
		"more hops than are read":   {request("10.0.0.1:80", listed, "198.51.100.1"+strings.Repeat(",10.0.0.2", 40)), "10.0.0.2"},
		"a socket of this machine":  {request("@", listed, "198.51.100.1"), "198.51.100.1"},
	} {
		require.Equal(t, c.want, proxies.Client(c.request).String(), name)
	}
	require.False(t, clientaddr.Proxies(nil).Client(request("@", listed, "198.51.100.1")).IsValid())
}

func TestIPv6IsCountedByItsNetwork(t *testing.T) {
	t.Parallel()
	require.Equal(t, "198.51.100.1", clientaddr.Network(netip.MustParseAddr("198.51.100.1")))
	require.Equal(t, "2001:db8:0:7::/64", clientaddr.Network(netip.MustParseAddr("2001:db8:0:7::1")))
	require.Equal(t, "2001:db8:0:7::/64", clientaddr.Network(netip.MustParseAddr("2001:db8:0:7:ffff::1")))
	require.NotEmpty(t, clientaddr.Network(netip.Addr{}), "connections without an address share a bucket")
}
