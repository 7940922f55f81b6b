package main

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSecondRunGoesOnWithTheMerchantOfTheFirst: and each run ends on request.
func TestSecondRunGoesOnWithTheMerchantOfTheFirst(t *testing.T) {
	path, address := filepath.Join(t.TempDir(), "pay.db"), freeAddress(t)
	for range 2 {
		ctx, end := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- run(ctx, path, address) }()
		require.Eventually(t, func() bool { return listens(ctx, address) }, time.Minute, 10*time.Millisecond)
		end()
		require.NoError(t, <-done)
	}
}

func listens(ctx context.Context, address string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}
