// Package foreign_test uses the module as others do: from modules of their own.
package foreign_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/paywarrant/paywarrant"

// foreign makes a module with one file that requires this one.
func foreign(t *testing.T, file string) (dir string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	source, err := os.ReadFile(filepath.Join("testdata", file+".txt"))
	require.NoError(t, err)
	text := strings.Replace(string(mod), "module "+module, "module example.com/shop", 1) +
		"\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n"
	dir = t.TempDir()
	for name, content := range map[string][]byte{"go.mod": []byte(text), "go.sum": sum, file: source} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return dir
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// TestMerchantBuildsWithFiveOutsideModules: a program that imports only paywall
// and client compiles in no module outside the standard library but five.
func TestMerchantBuildsWithFiveOutsideModules(t *testing.T) {
	t.Parallel()
	dir := foreign(t, "main.go")
	run(t, dir, "build", "-o", "shop", ".")
	allowed := []string{
		"github.com/golang-jwt/jwt/v5", "github.com/gowebpki/jcs", "golang.org/x/crypto", "golang.org/x/sys",
		"github.com/felixge/httpsnoop",
	}
	for m := range strings.FieldsSeq(run(t, dir, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")) {
		if m != module && m != "example.com/shop" {
			require.Contains(t, allowed, m)
		}
	}
	source, err := os.ReadFile(filepath.Join(dir, "main.go"))
	require.NoError(t, err)
	_, gating, _ := strings.Cut(string(source), "// gate begins\n")
	gating, _, _ = strings.Cut(gating, "// gate ends")
	require.Less(t, strings.Count(gating, "\n"), 10, "gating a handler takes less than ten lines")
}

// TestForeignTestStartsTheWholeSystem: servertest from another module's test.
func TestForeignTestStartsTheWholeSystem(t *testing.T) {
	t.Parallel()
	dir := foreign(t, "shop_test.go")
	run(t, dir, "vet", ".") // builds, so that only the test itself is timed below
	out := run(t, dir, "test", "-v", "-count=1", ".")
	took := regexp.MustCompile(`--- PASS: TestShop \((\d+\.\d+)s\)`).FindStringSubmatch(out)
	require.NotNil(t, took, out)
	t.Logf("the foreign test took %s s", took[1])
}

// TestGateWorksBehindOtherRouters runs the examples of chi, gin and echo, which are a
// module of their own.
func TestGateWorksBehindOtherRouters(t *testing.T) {
	t.Parallel()
	run(t, filepath.Join("..", "..", "examples", "routers"), "test", "-mod=readonly", "./...")
}
