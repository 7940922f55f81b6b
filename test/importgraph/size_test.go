package importgraph_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	// longestFunction is in lines, with its first and its last.
	longestFunction = 70
	// longFile is how many lines nine of ten files without tests have at most.
	longFile = 250
)

// TestFunctionsAndFilesAreShort: no function of ours is longer than it may be, and few files are.
func TestFunctionsAndFilesAreShort(t *testing.T) {
	t.Parallel()
	listed, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files", "--cached", "--others", "--exclude-standard", "*.go").Output()
	require.NoError(t, err)
	var sizes []int
	for line := range bytes.Lines(listed) {
		path := filepath.Join("..", "..", string(bytes.TrimSpace(line)))
		if _, err := os.Stat(path); err != nil {
			continue // deleted, and not committed
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		require.NoError(t, err)
		if ast.IsGenerated(file) {
			continue
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				lines := set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1
				require.LessOrEqual(t, lines, longestFunction, "%s: %s", path, f.Name.Name)
			}
		}
		if match, _ := filepath.Match("*_test.go", filepath.Base(path)); !match {
			sizes = append(sizes, set.File(file.Pos()).LineCount())
		}
	}
	slices.Sort(sizes)
	require.LessOrEqual(t, sizes[len(sizes)*9/10], longFile, "nine of ten files")
}
