package main

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/servertest"
)

func TestSell(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- sell(t.Context(), srv.Client(), in)
		_ = in.Close()
	}()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	_, token, found := strings.Cut(lines.Text(), "/setup/")
	require.True(t, found)
	srv.CompleteSetup(t, token)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "completed txn_")
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), "250 succeeded")
	require.False(t, lines.Scan())
	require.NoError(t, <-done)
}
