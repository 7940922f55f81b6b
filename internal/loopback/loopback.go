// Package loopback recognizes hosts of the loopback interface, which plain HTTP may
// be used for.
package loopback

import (
	"net/netip"
	"strings"
)

// Host reports whether host, without a port, is localhost or a loopback address.
func Host(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && addr.IsLoopback())
}

// Name reports whether host is a [Host] or a name below localhost, such as
// "shop.localhost". Browsers resolve such a name to the loopback interface (RFC 6761
// §6.3); other resolvers may not, so nothing secret may be sent to it.
func Name(host string) bool { return Host(host) || strings.HasSuffix(host, ".localhost") }
