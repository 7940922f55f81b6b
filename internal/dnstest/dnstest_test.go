package dnstest_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/dnstest"
)

func TestNamesResolveAsTold(t *testing.T) {
	t.Parallel()
	first := []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("2001:db8::1")}
	r := dnstest.Start(t, func(name string, nth int) []netip.Addr {
		switch {
		case name != "shop.example":
			return nil
		case nth == 0:
			return first
		}
		return first[1:2]
	})
	got, err := r.LookupNetIP(t.Context(), "ip", "Shop.example.")
	require.NoError(t, err)
	require.ElementsMatch(t, first, got)
	got, err = r.LookupNetIP(t.Context(), "ip", "shop.example.")
	require.NoError(t, err)
	require.Equal(t, first[1:2], got)
	_, err = r.LookupNetIP(t.Context(), "ip", "other.example.")
	var missing *net.DNSError
	require.ErrorAs(t, err, &missing)
	require.True(t, missing.IsNotFound)
}
