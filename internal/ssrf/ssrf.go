// Package ssrf keeps requests to addresses that others choose from reaching private
// networks. It checks the address that is dialed, after the name was resolved, so that a
// name, a redirect, or a name that resolves differently the second time cannot bypass it.
//
//	transport := &http.Transport{DialContext: ssrf.Dialer(10 * time.Second).DialContext}
//
// A transport with this dialer must not use a proxy, because it would check the proxy's
// address instead.
package ssrf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// ErrForbidden reports an address that must not be dialed.
var ErrForbidden = errors.New("ssrf: not a public address")

// Dialer returns a dialer for public addresses. For others it returns [ErrForbidden]
// before anything is sent.
func Dialer(timeout time.Duration) *net.Dialer { return DialerTo(timeout, Public) }

// DialerTo is [Dialer] with a different rule for which addresses may be dialed.
func DialerTo(timeout time.Duration, may func(netip.Addr) bool) *net.Dialer {
	// The address is checked right before the socket connects to it.
	control := func(network, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || (network != "tcp4" && network != "tcp6") {
			return fmt.Errorf("%w: %s %s", ErrForbidden, network, address)
		}
		if !may(to.Addr()) {
			return fmt.Errorf("%w: %s", ErrForbidden, to.Addr())
		}
		return nil
	}
	return &net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second, Control: control}
}

// reserved are the blocks of the IANA special-purpose registries that are not globally
// reachable, those that embed an IPv4 address (which could be any), and the metadata
// services with public addresses.
var reserved = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
	"192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"168.63.129.16/32", // the metadata service of a cloud
	"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16",
	"fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		all[i] = netip.MustParsePrefix(t)
	}
	return all
}

// Public reports whether an address belongs to the public internet.
func Public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsValid() {
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
