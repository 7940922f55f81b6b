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

// all returns the points of all drills.
func all() []failpoint.Point {
	return slices.Concat(failpoint.Points(), failpoint.HoldPoints(), failpoint.RefundPoints(), failpoint.SettlementPoints(), failpoint.TabPoints(), failpoint.ChainPoints(),
		failpoint.ChainRefundPoints(), failpoint.SellerPoints(), failpoint.DeliveryPoints())
}

// TestHitDoesNothing: a release ignores the variable that arms a point.
func TestHitDoesNothing(t *testing.T) {
	t.Setenv("PAYWARRANT_FAILPOINT", string(failpoint.Received)+":1")
	for _, p := range all() {
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
	require.Len(t, used, len(all()))
}

// TestNoTwoPointsHaveOneName: a drill that means one would kill at the other.
func TestNoTwoPointsHaveOneName(t *testing.T) {
	t.Parallel()
	points := all()
	slices.Sort(points)
	require.Len(t, slices.Compact(slices.Clone(points)), len(points))
}
