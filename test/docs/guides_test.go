package docs_test

import (
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
// against a sandbox of its own, and compares their output with the blocks of text.
func TestGuidesRunAsPrinted(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "jq", "node", "python3"} {
		if _, err := exec.LookPath(tool); err != nil {
			if strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "curl") {
				t.Fatalf("%s is required and not installed", tool)
			}
			t.Skipf("needs %s, which is not installed", tool)
		}
	}
	bin := t.TempDir()
	program, err := programtest.Build(t.Context(), bin)
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "hello"), "../../examples/hello").CombinedOutput()
	require.NoError(t, err, "%s", out)
	start, err := os.ReadFile("../../docs/guides/README.md")
	require.NoError(t, err)
	guides, err := filepath.Glob("../../docs/guides/[a-z]*.md")
	require.NoError(t, err)
	require.Len(t, guides, 5)
	for _, guide := range guides {
		name := strings.TrimSuffix(filepath.Base(guide), ".md")
		t.Run(name, func(t *testing.T) { // one after the other: they listen where they say
			text, err := os.ReadFile(guide)
			require.NoError(t, err)
			require.Contains(t, string(start), "("+name+".md)", "the list of guides does not have it")
			dir := t.TempDir()
			sandbox(t, program, dir)
			script, want := scripted(string(start) + "\n" + string(text))
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

// scripted returns a script of all blocks of a text, and the lines that it must print.
// "go run" of an example runs what was built before.
func scripted(text string) (script string, want []string) {
	var b strings.Builder
	b.WriteString("set -eu -o pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT\ngo() { exec \"$BIN/${2##*/}\"; }\n")
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
