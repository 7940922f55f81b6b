// Package dnstest is a DNS server for tests: names resolve to the addresses that the test
// chooses, which may change between lookups.
package dnstest

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// Query types (RFC 1035, section 3.2.2; RFC 3596).
const typeA, typeAAAA = 1, 28

// Start starts a DNS server that stops with the test, and returns a resolver that uses only
// this server. addresses returns the addresses of a name at its nth lookup, counted from
// 0. If it returns none, the name does not exist.
func Start(t testing.TB, addresses func(name string, nth int) []netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatalf("dnstest: %v", err)
	}
	s := &server{addresses: addresses, lookups: map[question]int{}}
	var loop sync.WaitGroup
	loop.Go(func() { s.serve(conn) })
	t.Cleanup(func() {
		_ = conn.Close() // ends the loop
		loop.Wait()
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

type question struct {
	name string
	kind uint16
}

type server struct {
	addresses func(name string, nth int) []netip.Addr
	lookups   map[question]int
}

func (s *server) serve(conn *net.UDPConn) {
	in := make([]byte, 1500)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(in)
		if err != nil {
			return // closed
		}
		if out := s.answer(in[:n]); out != nil {
			_, _ = conn.WriteToUDPAddrPort(out, from) // the client retries if this fails
		}
	}
}

// answer returns the response to a message with a single question (RFC 1035, section 4).
func (s *server) answer(in []byte) []byte {
	const header = 12
	if len(in) < header {
		return nil
	}
	var labels []string
	at := header
	for at < len(in) && in[at] != 0 {
		end := at + 1 + int(in[at])
		if end > len(in) {
			return nil
		}
		labels = append(labels, string(in[at+1:end]))
		at = end
	}
	if at+5 > len(in) {
		return nil
	}
	q := question{strings.ToLower(strings.Join(labels, ".")), binary.BigEndian.Uint16(in[at+1:])}
	found := s.addresses(q.name, s.lookups[q])
	s.lookups[q]++
	out := append([]byte{in[0], in[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, in[header:at+5]...)
	if len(found) == 0 {
		out[3] |= 3 // no such name
		return out
	}
	for _, a := range found {
		if a.Is4() != (q.kind == typeA) || q.kind != typeA && q.kind != typeAAAA {
			continue
		}
		raw := a.AsSlice()
		out = append(out, 0xc0, header, 0, byte(q.kind), 0, 1, 0, 0, 0, 0, 0, byte(len(raw))) // TTL 0: not cached
		out = append(out, raw...)
		out[7]++
	}
	return out
}
