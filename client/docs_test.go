package client_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// TestEveryCodeHasAPage: docs/errors explains each code with cause, fix and a
// commands that show it, and has no page that its list does not name.
func TestEveryCodeHasAPage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "docs", "errors")
	list, err := os.ReadFile(filepath.Join(dir, "README.md"))
	require.NoError(t, err)
	for _, e := range client.Errors() {
		name := string(e.Code) + ".md"
		page, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		for _, part := range []string{"# `" + string(e.Code) + "`", "## Cause", "## Fix", "## See it\n\n```sh\n"} {
			require.Contains(t, string(page), part, name)
		}
		require.Contains(t, string(list), "("+name+")", "the list of errors")
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		if f.Name() != "README.md" {
			require.Contains(t, string(list), "("+f.Name()+")", "%s is not in the list of errors", f.Name())
		}
	}
}
