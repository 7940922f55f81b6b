package programtest_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/programtest"
)

// TestProgramIsLinkedOnce: a second build is the same file, and it runs.
func TestProgramIsLinkedOnce(t *testing.T) {
	t.Parallel()
	first, err := programtest.Build(t.Context(), t.TempDir())
	require.NoError(t, err)
	second, err := programtest.Build(t.Context(), t.TempDir())
	require.NoError(t, err)
	a, err := os.Stat(first)
	require.NoError(t, err)
	b, err := os.Stat(second)
	require.NoError(t, err)
	require.Equal(t, a.ModTime(), b.ModTime())
	require.NoError(t, exec.CommandContext(t.Context(), second, "--version").Run()) // this program
}
