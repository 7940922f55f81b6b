package failpoint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/failpoint"
)

// TestHitDoesNothing: a release ignores the variable that arms a point.
func TestHitDoesNothing(t *testing.T) {
	t.Setenv("PAYWARRANT_FAILPOINT", string(failpoint.Received)+":1")
	for _, p := range slices.Concat(failpoint.Points(), failpoint.ChainPoints(), failpoint.DeliveryPoints()) {
		failpoint.Hit(p)
	}
}

// TestEveryPointIsSomewhere: a constant without its line in the code would make a
// drill wait for what never comes.
func TestEveryPointIsSomewhere(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`failpoint\.[A-Z]\w+`)
	used := map[string]bool{}
	require.NoError(t, filepath.WalkDir("../../server", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, name := range named.FindAllString(string(code), -1) {
			used[name] = true
		}
		return err
	}))
	delete(used, "failpoint.Hit")
	delete(used, "failpoint.Point")
	require.Len(t, used, len(failpoint.Points())+len(failpoint.ChainPoints())+len(failpoint.DeliveryPoints()))
}

// TestNoTwoPointsHaveOneName: a drill that means one would kill at the other.
func TestNoTwoPointsHaveOneName(t *testing.T) {
	t.Parallel()
	points := slices.Concat(failpoint.Points(), failpoint.ChainPoints(), failpoint.DeliveryPoints())
	slices.Sort(points)
	require.Len(t, slices.Compact(slices.Clone(points)), len(points))
}
