package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/programtest"
)

// TestHangupEndsDevInOrder: a closed terminal is no kill: nothing is left behind.
func TestHangupEndsDevInOrder(t *testing.T) {
	t.Parallel()
	// A child inherits ignored signals (nohup), but not caught ones.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	program, err := programtest.Build(t.Context(), t.TempDir())
	require.NoError(t, err)
	temp := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	dev := exec.CommandContext(ctx, program, "dev", "--addr", "127.0.0.1:0", "--no-chain")
	dev.Env = append(os.Environ(), "TMPDIR="+temp)
	ready, err := dev.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, dev.Start())
	_, err = ready.Read(make([]byte, 1))
	require.NoError(t, err)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.NotEmpty(t, left)
	require.NoError(t, dev.Process.Signal(syscall.SIGHUP))
	require.NoError(t, dev.Wait(), "it exits with 0")
	left, err = os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
}
