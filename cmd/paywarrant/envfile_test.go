package main

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEnvFileOfSomebodyElseIsKept: dev replaces and removes only its own file.
func TestEnvFileOfSomebodyElseIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), ".env")
	values := []fact{{"A", "1"}, {"B", ""}}
	require.NoError(t, os.WriteFile(path, []byte("export SECRET=1\n"), 0o600))
	f := &envFile{path: path}
	require.ErrorContains(t, f.check(), "paywarrant dev did not write it")
	require.Equal(t, exitUsage, exitCode(f.check()))
	require.Error(t, f.clear())
	require.Error(t, f.write(values))
	require.NoError(t, f.remove())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "export SECRET=1\n", string(text))

	require.NoError(t, os.Truncate(path, 0), "an empty file holds nothing")
	require.NoError(t, f.write(values))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, envMark+"export A=1\n", string(text))

	second := &envFile{path: path}
	require.NoError(t, second.check())
	require.NoError(t, second.write([]fact{{"A", "2"}}))
	require.NoError(t, f.remove(), "the first sandbox ends")
	require.FileExists(t, path)
	require.NoError(t, second.remove())
	require.NoFileExists(t, path)

	folder := &envFile{path: t.TempDir()}
	require.Equal(t, exitUsage, exitCode(folder.check()))
	require.Equal(t, exitUsage, exitCode((&envFile{path: filepath.Join(path, "none", "dev.env")}).check()))
	require.NoError(t, (&envFile{}).check())
}

// TestSecondDevLeavesTheFirstOnesEnvFile: its port is taken.
func TestSecondDevLeavesTheFirstOnesEnvFile(t *testing.T) {
	t.Parallel()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	path := filepath.Join(t.TempDir(), "dev.env")
	first := &envFile{path: path}
	require.NoError(t, first.write([]fact{{"A", "1"}}))
	err = devCmd{Addr: l.Addr().String(), APIAddr: "127.0.0.1:0", Env: path, NoChain: true, JSON: true}.Run(t.Context(), output{io.Discard, io.Discard})
	require.ErrorContains(t, err, "address")
	require.FileExists(t, path)
}
