package ssrf_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/ssrf"
)

// TestSSRFThroughRedirectsAndDNSRebinding: a redirect that leads inside, and a name
// that is public when it is looked at and inside when it is dialled.
func TestSSRFThroughRedirectsAndDNSRebinding(t *testing.T) {
	t.Parallel()
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)

	t.Run("redirects", func(t *testing.T) {
		t.Parallel()
		outside := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
		defer outside.Close()
		dialer := ssrf.Dialer(time.Minute)
		transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == "shop.example:80" { // stands on the public internet
				return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(outside.URL, "http://"))
			}
			return dialer.DialContext(ctx, network, address)
		}}
		defer transport.CloseIdleConnections()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.example/", http.NoBody)
		require.NoError(t, err)
		_, err = (&http.Client{Transport: transport}).Do(r)
		require.ErrorIs(t, err, ssrf.ErrForbidden)
	})

	t.Run("DNS rebinding", func(t *testing.T) {
		t.Parallel()
		names := newNameServer(t)
		dialer := ssrf.Dialer(time.Minute)
		dialer.Resolver = names.resolver
		_, port, err := net.SplitHostPort(strings.TrimPrefix(inside.URL, "http://"))
		require.NoError(t, err)

		first, err := names.resolver.LookupNetIP(t.Context(), "ip4", "rebound.example.")
		require.NoError(t, err)
		require.True(t, ssrf.Public(first[0]), "who asks beforehand is told a public address")
		names.turned.Store(true)
		_, err = dialer.DialContext(t.Context(), "tcp4", "rebound.example.:"+port)
		require.ErrorIs(t, err, ssrf.ErrForbidden)
		require.True(t, names.lied.Load(), "it was asked again, and said inside")
	})
	t.Cleanup(func() { require.Zero(t, reached.Load()) })
}

// nameServer says that every name is 1.1.1.1 at first, and 127.0.0.1 once it has turned.
type nameServer struct {
	resolver     *net.Resolver
	turned, lied atomic.Bool
}

func newNameServer(t *testing.T) *nameServer {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp4", "127.0.0.1:0")
	require.NoError(t, err)
	s := &nameServer{}
	s.resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp4", conn.LocalAddr().String())
	}}
	ended := make(chan error, 1)
	go func() { ended <- s.serve(conn) }()
	t.Cleanup(func() {
		require.NoError(t, conn.Close())
		require.ErrorIs(t, <-ended, net.ErrClosed)
	})
	return s
}

func (s *nameServer) serve(conn net.PacketConn) error {
	buffer := make([]byte, 512)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return err
		}
		is := netip.MustParseAddr("1.1.1.1")
		if s.turned.Load() {
			s.lied.Store(true)
			is = netip.MustParseAddr("127.0.0.1")
		}
		answer, err := answerTo(buffer[:n], is)
		if err != nil {
			return err
		}
		if _, err := conn.WriteTo(answer, from); err != nil {
			return err
		}
	}
}

// answerTo is the answer to a DNS query for one A record (RFC 1035 §4.1).
func answerTo(query []byte, is netip.Addr) ([]byte, error) {
	const header = 12
	end := header
	for end < len(query) && query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5 // the root label, type and class
	if end > len(query) {
		return nil, errors.New("the query is cut off")
	}
	out := append([]byte{}, query[:end]...)
	binary.BigEndian.PutUint16(out[2:], 0x8180) // a response, recursion available
	binary.BigEndian.PutUint16(out[6:], 1)      // one answer
	binary.BigEndian.PutUint32(out[8:], 0)      // no authority, no additional records
	out = append(out, 0xc0, header, 0, 1, 0, 1) // the name asked for, A, IN
	out = binary.BigEndian.AppendUint32(out, 0) // not to be kept
	out = binary.BigEndian.AppendUint16(out, 4)
	return append(out, is.AsSlice()...), nil
}
