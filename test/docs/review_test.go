package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	finding  = regexp.MustCompile(`(?m)^\| ([a-z]+ [^|]+) \| (mended|declined|open) \| ([^|]+) \| ([^|]*) \|$`)
	testName = regexp.MustCompile("`([a-z0-9/]+) (Test[A-Za-z0-9]+)(/[^`]+)?`")
)

// TestEachFindingHasATestOrAReason: docs/review.md lists every numbered finding,
// with tests that exist if it was mended, and with a reason if not.
func TestEachFindingHasATestOrAReason(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/review.md")
	require.NoError(t, err)
	rows := finding.FindAllStringSubmatch(string(text), -1)
	listed := map[string]bool{}
	for _, row := range rows {
		id, state, tests := row[1], row[2], testName.FindAllStringSubmatch(row[4], -1)
		require.False(t, listed[id], "%s is listed twice", id)
		listed[id] = true
		require.Len(t, tests, strings.Count(row[4], "`")/2, "%s: a test cannot be read", id)
		if state == "mended" {
			require.NotEmpty(t, tests, "%s names no test", id)
		}
		for _, n := range tests {
			require.True(t, hasTest(t, n[1], n[2]), "%s: %s has no %s", id, n[1], n[2])
		}
	}
	require.Len(t, rows, strings.Count(string(text), "\n| ")-strings.Count(string(text), "\n|---"), "a row of the tables cannot be read")
	for _, id := range numbered() {
		require.True(t, listed[id], "%s is not answered", id)
	}
}

// TestEachAttackIsTried: the tests that docs/design/attacks.md names exist, and no row is without.
func TestEachAttackIsTried(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/design/attacks.md")
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| attack |") {
			continue
		}
		rows++
		cells := strings.Split(line, " | ")
		require.Len(t, cells, 3, line)
		tests := testName.FindAllStringSubmatch(cells[2], -1)
		require.NotEmpty(t, tests, line)
		require.Len(t, tests, strings.Count(cells[2], "`")/2, line)
		for _, n := range tests {
			require.True(t, hasTest(t, n[1], n[2]), "%s has no %s", n[1], n[2])
		}
	}
	require.Equal(t, 34, rows)
}

// numbered returns the ids of the findings that must be answered.
func numbered() []string {
	var ids []string
	for _, series := range []struct {
		name string
		n    int
	}{{"core H", 16}, {"core S", 4}, {"public A", 33}, {"security H", 14}, {"chain H", 11}, {"chain M", 6}} {
		for i := range series.n {
			ids = append(ids, fmt.Sprintf("%s%d", series.name, i+1))
		}
	}
	for letter := 'A'; letter <= 'F'; letter++ {
		ids = append(ids, "interop "+string(letter))
	}
	return ids
}
