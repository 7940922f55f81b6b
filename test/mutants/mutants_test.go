package main

import (
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEachMutantCanBePlanted keeps the table in step with the source: the text that
// a mutant replaces occurs once, and what replaces it still parses.
func TestEachMutantCanBePlanted(t *testing.T) {
	t.Chdir("../..")
	seen := map[string]bool{}
	for _, m := range all() {
		require.False(t, seen[m.file+m.bug], "two mutants of %s are called %q", m.file, m.bug)
		seen[m.file+m.bug] = true
		t.Run(m.file+": "+m.bug, func(t *testing.T) {
			text, err := m.plant()
			require.NoError(t, err)
			require.NotEqual(t, m.old, m.new)
			if strings.HasSuffix(m.file, ".go") {
				_, err = parser.ParseFile(token.NewFileSet(), m.file, text, 0)
				require.NoError(t, err)
			}
			for _, p := range strings.Fields(strings.SplitN(m.tests, ":", 2)[0]) {
				_, err := os.Stat(strings.TrimSuffix(p, "/..."))
				require.NoError(t, err)
			}
		})
	}
	require.GreaterOrEqual(t, len(seen), 100)
}
