package failpoint_test

import (
	"os/exec"
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
	out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "grep", "-hoE", `failpoint\.Hit\(failpoint\.\w+\)`, "--", "*.go", ":!*_test.go", ":!internal/failpoint").Output()
	require.NoError(t, err)
	used := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		used[strings.TrimSpace(line)] = true
	}
	require.Len(t, used, len(failpoint.Points()))
}
