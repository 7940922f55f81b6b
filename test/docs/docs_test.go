// Package docs_test keeps the documents true: the code they show is code that is
// compiled and tested, and the files they link to exist.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documents returns the text of each Markdown file at the top and under docs.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../*.md")
	require.NoError(t, err)
	require.NoError(t, filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	}))
	found := map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		found[f] = string(text)
	}
	require.Contains(t, found, "../../README.md")
	require.Greater(t, len(found), 40)
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

var (
	link    = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// noAnchor is what GitHub leaves out of the address of a heading.
	noAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// TestLinkedFilesExist covers links to files, and to headings in them.
func TestLinkedFilesExist(t *testing.T) {
	t.Parallel()
	all := documents(t)
	for file, text := range all {
		for _, l := range link.FindAllStringSubmatch(text, -1) {
			target := file
			if l[1] != "" {
				target = filepath.Join(filepath.Dir(file), l[1])
			}
			_, err := os.Stat(target)
			require.NoError(t, err, "%s links to %s", file, l[1])
			if l[2] != "" {
				require.Contains(t, anchors(all[target]), l[2], "%s links to %s#%s", file, l[1], l[2])
			}
		}
	}
}

// anchors returns the addresses of a document's headings.
func anchors(text string) []string {
	var all []string
	for _, h := range heading.FindAllStringSubmatch(text, -1) {
		plain := noAnchor.ReplaceAllString(strings.ToLower(h[1]), "")
		all = append(all, strings.ReplaceAll(plain, " ", "-"))
	}
	return all
}

// TestEachDocumentIsInTheIndex: docs/README.md links to each document under docs, or to the
// index of its folder.
func TestEachDocumentIsInTheIndex(t *testing.T) {
	t.Parallel()
	all := documents(t)
	const index = "../../docs/README.md"
	listed := map[string]bool{index: true}
	for _, l := range link.FindAllStringSubmatch(all[index], -1) {
		listed[filepath.Join(filepath.Dir(index), l[1])] = true
	}
	for file := range all {
		if strings.HasPrefix(file, "../../docs/") && !listed[filepath.Join(filepath.Dir(file), "README.md")] {
			require.True(t, listed[file], "docs/README.md does not list %s", file)
		}
	}
}

var mention = regexp.MustCompile(`\bdocs/[A-Za-z0-9_/-]+\.md`)

// TestMentionedDocumentsExist: comments, messages and tests name documents that exist.
func TestMentionedDocumentsExist(t *testing.T) {
	t.Parallel()
	found := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && (name == "node_modules" || strings.HasPrefix(name, ".") && path != "../..") {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" && d.Name() != "Makefile" && filepath.Ext(path) != ".sh" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, name := range mention.FindAllString(string(text), -1) {
			found++
			require.FileExists(t, filepath.Join("../..", name), path)
		}
		return nil
	}))
	require.Greater(t, found, 10)
}
