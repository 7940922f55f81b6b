package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var bug = regexp.MustCompile("(?m)^\\| [^|]+ \\| `(Test[A-Za-z0-9]+)` \\| `([a-z0-9/]+)` \\|$")

// TestEachBugHasATestOfItsName: docs/design/bugs.md names tests that exist where it says.
func TestEachBugHasATestOfItsName(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/design/bugs.md")
	require.NoError(t, err)
	rows := bug.FindAllStringSubmatch(string(text), -1)
	require.Len(t, rows, strings.Count(string(text), "\n| ")-1, "a row of the table cannot be read")
	require.Greater(t, len(rows), 20)
	for _, row := range rows {
		name, folder := row[1], row[2]
		require.True(t, hasTest(t, folder, name), "%s has no %s", folder, name)
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(folder), "*_test.go"))
	require.NoError(t, err)
	for _, f := range files {
		source, err := os.ReadFile(f)
		require.NoError(t, err)
		if strings.Contains(string(source), "\nfunc "+name+"(t *testing.T) {") {
			return true
		}
	}
	return false
}
