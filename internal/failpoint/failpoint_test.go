package failpoint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/failpoint"
)

// TestHitDoesNothing: a release does not hear the variable that arms a point.
func TestHitDoesNothing(t *testing.T) {
	t.Setenv("PAYWARRANT_FAILPOINT", string(failpoint.Received)+":1")
	for _, p := range failpoint.Points() {
		failpoint.Hit(p)
	}
}

// TestEveryPointIsSomewhere: a constant without its line in the code would make a
// drill wait for what never comes.
func TestEveryPointIsSomewhere(t *testing.T) {
	t.Parallel()
	hit := regexp.MustCompile(`failpoint\.Hit\(failpoint\.\w+\)`)
	used := map[string]bool{}
	require.NoError(t, filepath.WalkDir("../../server", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		code, err := os.ReadFile(path)
		for _, line := range hit.FindAllString(string(code), -1) {
			used[line] = true
		}
		return err
	}))
	require.Len(t, used, len(failpoint.Points()))
}
