package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBindingsAreWhatTheArtifactsGive(t *testing.T) {
	t.Parallel()
	require.NoError(t, run("..", true))
}

func TestCheckFindsWhatDiffers(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	folder := filepath.Join(root, "contracts")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "x402", "evm"), 0o700))
	require.NoError(t, os.CopyFS(filepath.Join(folder, "artifacts"), os.DirFS("../artifacts")))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "contracttest"), 0o700))
	require.Error(t, run(folder, true), "nothing is there yet")
	require.NoError(t, run(folder, false))
	require.NoError(t, run(folder, true))
	path := filepath.Join(folder, "bindings.go")
	code, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(code, '\n'), 0o600))
	require.ErrorIs(t, run(folder, true), errStale)
}
