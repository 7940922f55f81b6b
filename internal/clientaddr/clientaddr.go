// Package clientaddr finds the address of the client that sent a request, behind
// proxies that the operator names.
//
//	proxies := clientaddr.Proxies{netip.MustParsePrefix("10.0.0.0/8")}
//	limits.Take(clientaddr.Network(proxies.Client(r)))
//
// Any client can send the headers that proxies add. They count only if the connection
// comes from a trusted proxy, and only as far as trusted proxies wrote them.
package clientaddr

import (
	"net/http"
	"net/netip"
	"strings"
)

// Proxies are the addresses of the proxies that are trusted to report their clients.
type Proxies []netip.Prefix

// maxHops bounds how many hops of a request are read.
const maxHops = 32

// Client returns the address of the client. It is the peer of the connection; if that
// is a trusted proxy, it is the last hop in X-Forwarded-For, or in Forwarded
// (RFC 7239), that is not one. If a request has both headers and they disagree, one of
// them passed through unchecked: the address is then the proxy's own. The result is
// invalid if the connection has no IP address and no proxies are trusted.
func (p Proxies) Client(r *http.Request) netip.Addr {
	peer := parse(r.RemoteAddr)
	if !p.trusts(peer) {
		return peer
	}
	listed, forwarded := listedHops(r.Header), forwardedHops(r.Header)
	switch {
	case len(forwarded) == 0:
		return p.last(peer, listed)
	case len(listed) == 0:
		return p.last(peer, forwarded)
	}
	if a := p.last(peer, listed); a == p.last(peer, forwarded) {
		return a
	}
	return peer
}

// trusts reports whether a peer is a trusted proxy. A peer without an IP address runs on
// the same machine, and is trusted if any proxy is.
func (p Proxies) trusts(a netip.Addr) bool {
	if !a.IsValid() {
		return len(p) > 0
	}
	for _, prefix := range p {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// last returns the last hop that is not a trusted proxy. A hop that is not an address ends
// the search at the proxy that reported it.
func (p Proxies) last(peer netip.Addr, hops []string) netip.Addr {
	client := peer
	for i := len(hops) - 1; i >= max(len(hops)-maxHops, 0); i-- {
		a := parse(hops[i])
		if !a.IsValid() {
			return client
		}
		client = a
		if !p.trusts(a) {
			return client
		}
	}
	return client
}

// listedHops parses X-Forwarded-For: addresses separated by commas.
func listedHops(h http.Header) []string {
	values := h.Values("X-Forwarded-For")
	if len(values) == 0 {
		return nil
	}
	return strings.Split(strings.Join(values, ","), ",")
}

// forwardedHops reads the for parameters of Forwarded (RFC 7239 section 4). An
// element without one is an unknown hop.
func forwardedHops(h http.Header) []string {
	values := h.Values("Forwarded")
	if len(values) == 0 {
		return nil
	}
	var hops []string
	for element := range strings.SplitSeq(strings.Join(values, ","), ",") {
		hop := ""
		for pair := range strings.SplitSeq(element, ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			if strings.EqualFold(name, "for") {
				hop = strings.Trim(value, `"`)
			}
		}
		hops = append(hops, hop)
	}
	return hops
}

// parse parses an address with or without a port and brackets. It returns the zero value
// for other text.
func parse(s string) netip.Addr {
	s = strings.TrimSpace(s)
	with, err := netip.ParseAddrPort(s) // first, because every peer has a port
	if err == nil {
		return with.Addr().Unmap().WithZone("")
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}

// Network returns the name that a client's requests are counted under: its IPv4 address,
// or the /64 of its IPv6 address, because the owner of one address of a /64 has them all.
func Network(a netip.Addr) string {
	if a.Is6() {
		prefix, err := a.Prefix(64)
		if err == nil {
			return prefix.String()
		}
	}
	return a.String()
}
