package client_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// TestEveryCodeHasAPage: docs/errors explains each code with cause, fix and a
// command that shows it, and explains nothing else.
func TestEveryCodeHasAPage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "docs", "errors")
	known := map[string]bool{"README.md": true}
	list, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	for _, e := range client.Errors() {
		name := string(e.Code) + ".md"
		known[name] = true
		page, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		for _, part := range []string{"# `" + string(e.Code) + "`", "## Cause", "## Fix", "curl "} {
			require.Contains(t, string(page), part, name)
		}
		require.Contains(t, string(list), "("+name+")", "the list of errors")
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		require.True(t, known[f.Name()], "%s explains no code", f.Name())
	}
}
