package docs_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/programtest"
)

// fence is a block of a guide.
var fence = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// interpreters run the blocks of the guides, each block in the order of its page.
var interpreters = map[string]string{"js": "node --input-type=module", "python": "python3"}

// TestGuidesRunAsPrinted runs the commands and programs of each guide in one shell,
// against a sandbox of its own, and compares their output with the blocks of text. Ports
// that they name are replaced by free ones.
func TestGuidesRunAsPrinted(t *testing.T) {
	t.Parallel()
	needs(t, "bash", "curl", "jq", "node", "python3")
	bin := t.TempDir()
	program, err := programtest.Build(t.Context(), bin)
	require.NoError(t, err)
	ports := []string{"8081", "4021", "8090", "3000", "3001", "8402", "8403", "9403"}
	free := freePorts(t, ports)
	buildHello(t, bin, free)
	out, err := goBuild(t, "-o", bin, "./examples/refund", "./examples/tools").CombinedOutput()
	require.NoError(t, err, string(out))
	start, err := os.ReadFile("../../docs/guides/README.md")
	require.NoError(t, err)
	guides, err := filepath.Glob("../../docs/guides/[a-z]*.md")
	require.NoError(t, err)
	require.Len(t, guides, 17)
	for _, guide := range guides {
		name := strings.TrimSuffix(filepath.Base(guide), ".md")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(guide)
			require.NoError(t, err)
			require.Contains(t, string(start), "("+name+".md)", "the list of guides does not have it")
			dir := t.TempDir()
			sandbox(t, program, dir)
			require.Subset(t, ports, listeners(string(text)), "a port of the guide is not replaced by a free one")
			script, want := scripted(free.Replace(string(start) + "\n" + string(text)))
			run := exec.CommandContext(t.Context(), "bash", "-c", script)
			run.Dir, run.Env = dir, append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "BIN="+bin)
			run.WaitDelay = 20 * time.Second // what a guide leaves running holds its output open
			var errs strings.Builder
			run.Stderr = &errs
			out, err := run.Output()
			require.NoError(t, err, "%s%s", out, errs.String())
			rest := string(out)
			for _, line := range want {
				_, after, found := strings.Cut(rest, line)
				require.True(t, found, "%q is not printed, or not in this order:\n%s%s", line, out, errs.String())
				rest = after
			}
		})
	}
}

// needs skips the test if a tool is missing, or fails it if PAYWARRANT_REQUIRE names them.
func needs(t *testing.T, tools ...string) {
	t.Helper()
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			if strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "curl") {
				t.Fatalf("%s is required and not installed", tool)
			}
			t.Skipf("needs %s, which is not installed", tool)
		}
	}
}

// freePorts returns a replacer of addresses with these ports on 127.0.0.1.
func freePorts(t *testing.T, ports []string) *strings.Replacer {
	t.Helper()
	var pairs []string
	for _, port := range ports {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close() // not before all are chosen, so that they differ
		pairs = append(pairs, "127.0.0.1:"+port, l.Addr().String())
	}
	return strings.NewReplacer(pairs...)
}

var listener = regexp.MustCompile(`127\.0\.0\.1:(\d+)`)

// listeners returns the ports that the blocks of a guide name; 0 is a free one already.
func listeners(text string) []string {
	var ports []string
	for _, block := range fence.FindAllString(text, -1) {
		for _, m := range listener.FindAllStringSubmatch(block, -1) {
			if m[1] != "0" {
				ports = append(ports, m[1])
			}
		}
	}
	return ports
}

// buildHello builds examples/hello with a free port.
func buildHello(t *testing.T, bin string, free *strings.Replacer) {
	t.Helper()
	path, err := filepath.Abs("../../examples/hello/main.go")
	require.NoError(t, err)
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	replaced := filepath.Join(bin, "hello.go")
	require.NoError(t, os.WriteFile(replaced, []byte(free.Replace(string(source))), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: replaced}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(bin, "overlay.json"), overlay, 0o600))
	build := goBuild(t, "-overlay", filepath.Join(bin, "overlay.json"), "-o", filepath.Join(bin, "hello"), "./examples/hello")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// goBuild returns `go build` in the module of the packages.
func goBuild(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"build"}, args...)...)
	cmd.Dir = "../.."
	return cmd
}

// scripted returns a script of all blocks of a text, and the lines that it must print.
// "go run" of an example runs what was built before.
func scripted(text string) (script string, want []string) {
	var b strings.Builder
	b.WriteString("set -eu -o pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\n" +
		"go() { local bin=\"$BIN/${2##*/}\"; shift 2; if [ $BASHPID = $$ ]; then \"$bin\" \"$@\"; else exec \"$bin\" \"$@\"; fi; }\n")
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		language, content := block[1], block[2]
		switch {
		case language == "sh":
			b.WriteString(content)
		case interpreters[language] != "":
			b.WriteString(interpreters[language] + " <<'END_OF_BLOCK'\n" + content + "END_OF_BLOCK\n")
		case language == "text":
			want = append(want, strings.Split(strings.TrimSpace(content), "\n")...)
		}
	}
	return b.String(), want
}
