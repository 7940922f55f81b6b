// Package apidiff_test runs test/apidiff.sh on a small module.
package apidiff_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// repository is a module with one public package and one program.
type repository struct {
	*testing.T

	dir, tools string
}

func setup(t *testing.T) repository {
	t.Helper()
	tools, err := filepath.Abs("../../.cache/tools")
	require.NoError(t, err)
	r := repository{t, t.TempDir(), tools}
	r.write("go.mod", "module example.com/shop\n\ngo 1.26\n")
	r.write("price/price.go", "package price\n\nfunc Cents() int { return 1 }\n")
	r.write("cmd/shop/main.go", "package main\n\nfunc main() {}\n")
	r.write("CHANGELOG.md", "## [Unreleased]\n\n## [0.1.0]\n\n- price: Cents.\n")
	r.git("init", "-q")
	r.git("add", ".")
	r.git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first")
	return r
}

func (r repository) write(path, text string) {
	r.Helper()
	path = filepath.Join(r.dir, path)
	require.NoError(r, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(r, os.WriteFile(path, []byte(text), 0o600))
}

func (r repository) git(arguments ...string) {
	r.Helper()
	run := exec.CommandContext(r.Context(), "git", arguments...)
	run.Dir = r.dir
	out, err := run.CombinedOutput()
	require.NoError(r, err, "%s", out)
}

// diff returns what the script prints, and whether it passes.
func (r repository) diff() (out string, passes bool) {
	r.Helper()
	script, err := filepath.Abs("../apidiff.sh")
	require.NoError(r, err)
	run := exec.CommandContext(r.Context(), "bash", script)
	run.Dir, run.Env = r.dir, append(os.Environ(), "PATH="+r.tools+string(os.PathListSeparator)+os.Getenv("PATH"), "GOFLAGS=-buildvcs=false")
	text, err := run.CombinedOutput()
	return string(text), err == nil
}

// TestNoTagIsNoComparison: before the first version there is nothing to compare.
func TestNoTagIsNoComparison(t *testing.T) {
	t.Parallel()
	out, passes := setup(t).diff()
	require.True(t, passes, out)
	require.Equal(t, 1, strings.Count(out, "\n"), out)
}

// TestIncompatibleChangesNeedALine: before version 1 a line of the changelog is enough, and
// programs are not compared; from version 1 on it is not.
func TestIncompatibleChangesNeedALine(t *testing.T) {
	t.Parallel()
	r := setup(t)
	if _, err := os.Stat(filepath.Join(r.tools, "apidiff")); err != nil {
		t.Skip("needs apidiff, which make apidiff installs")
	}
	r.git("tag", "v0.1.0")
	r.write("price/price.go", "package price\n\nfunc Cents() int { return 1 }\n\nfunc Micros() int { return 1 }\n")
	r.write("cmd/shop/main.go", "package main\n\nfunc main() { _ = Gone }\n\nconst Gone = 1\n")
	out, passes := r.diff()
	require.True(t, passes, out)
	require.Contains(t, out, "compatible with v0.1.0")

	r.write("price/price.go", "package price\n\nfunc Cents() int64 { return 1 }\n")
	out, passes = r.diff()
	require.False(t, passes, out)
	require.Contains(t, out, "does not say what replaces Cents")
	r.write("CHANGELOG.md", "## [Unreleased]\n\n- price: `Cents` returns an int64.\n\n## [0.1.0]\n")
	out, passes = r.diff()
	require.True(t, passes, out)
	require.Contains(t, out, "incompatible with v0.1.0")

	require.NoError(t, os.RemoveAll(filepath.Join(r.dir, "price")))
	r.write("CHANGELOG.md", "## [Unreleased]\n\n## [0.1.0]\n")
	out, passes = r.diff()
	require.False(t, passes, out)
	require.Contains(t, out, "- ./price: removed")
	r.write("CHANGELOG.md", "## [Unreleased]\n\n- Package price is gone.\n\n## [0.1.0]\n")
	out, passes = r.diff()
	require.True(t, passes, out)

	r.git("tag", "-d", "v0.1.0")
	r.git("tag", "v1.0.0")
	out, passes = r.diff()
	require.False(t, passes, out)
}
