package importgraph_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var patterns = regexp.MustCompile(`(?m)^(?:RACE|PLAIN)\s*:=(.*)$`)

// TestMakeTestsEveryPackage: each package of the module is in one of the lists that make test runs.
func TestMakeTestsEveryPackage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	require.NoError(t, err)
	lists := patterns.FindAllStringSubmatch(string(text), -1)
	require.Len(t, lists, 2)
	folders := regexp.MustCompile(`\./([a-z0-9]+)/\.\.\.`).FindAllStringSubmatch(lists[0][1]+lists[1][1], -1)
	tested := map[string]bool{}
	for _, f := range folders {
		tested[f[1]] = true
	}
	for path := range list(t, "./...") {
		if own, ok := strings.CutPrefix(path, module+"/"); ok {
			top, _, _ := strings.Cut(own, "/")
			require.True(t, tested[top], "make test does not run %s: add it to RACE or PLAIN", own)
		}
	}
}
