// Package docs_test keeps the documents true: the code they show is code that is
// compiled and tested, and the files they link to exist.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func documents(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			found[f] = string(text)
		}
	}
	require.Contains(t, found, "../../README.md")
	return found
}

var shown = regexp.MustCompile("(?s)<!-- ([^ ]+) -->\n```go\n(.*?)```")

// TestShownCodeIsRealCode: a Go block after a comment that names a file stands in
// that file, to the letter.
func TestShownCodeIsRealCode(t *testing.T) {
	t.Parallel()
	for file, text := range documents(t) {
		blocks := shown.FindAllStringSubmatch(text, -1)
		require.Len(t, blocks, strings.Count(text, "```go"), "%s: a Go block does not say which file it is from", file)
		for _, b := range blocks {
			source, err := os.ReadFile(filepath.Join("..", "..", b[1]))
			require.NoError(t, err, file)
			require.Contains(t, string(source), b[2], "%s shows what %s does not have", file, b[1])
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#:\s]+)(#[^)]*)?\)`)

func TestLinkedFilesExist(t *testing.T) {
	t.Parallel()
	for file, text := range documents(t) {
		for _, l := range link.FindAllStringSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(file), l[1]))
			require.NoError(t, err, "%s links to %s", file, l[1])
		}
	}
}
