package loopback_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/loopback"
)

func TestLoopbackIsLocalhostOrAnAddress(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "::ffff:10.0.0.1": false, "127.0.0.1.example.com": false,
		"127.1": false, "0177.0.0.1": false, "2130706433": false, "localhost.": false, "LOCALHOST": false, "[::1]": false, "127.0.0.1:80": false,
		"shop.localhost": false, "localhost.example.com": false,
	} {
		require.Equal(t, want, loopback.Host(host), host)
		require.Equal(t, want || host == "shop.localhost", loopback.Name(host), host)
	}
}
