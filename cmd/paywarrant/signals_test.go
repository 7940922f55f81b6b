package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHangupEndsDevInOrder: a closed terminal is no kill: nothing is left behind.
func TestHangupEndsDevInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary, temp := filepath.Join(dir, "paywarrant"), filepath.Join(dir, "temp")
	require.NoError(t, os.Mkdir(temp, 0o700))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	// A child inherits ignored signals (nohup), but not caught ones.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	dev := exec.CommandContext(t.Context(), binary, "dev", "--addr", "127.0.0.1:0", "--no-chain")
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
