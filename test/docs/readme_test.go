package docs_test

import (
	"bufio"
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

// readmeShell runs the README's commands: what installs and clones does nothing, "go run"
// runs what was built before, dev runs already, and a person confirms each setup page.
const readmeShell = `set -eu -o pipefail
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
git() { :; }
cd() { :; }
sleep() { command sleep 1; }
paywarrant() { [ "$1" = dev ] || "$BIN/paywarrant" "$@"; }
person() {
	while read -r line; do
		echo "$line"
		case "$line" in */setup/*)
			curl -sf -o /dev/null "$SERVICE_API_URL/v1/test_helpers/mandates/session/${line##*/setup/}/complete" \
				-H 'Content-Type: application/json' -d '{"paymentMethod":"card_visa"}' ;;
		esac
	done
}
go() {
	local verb=$1 program=${2##*/}
	case "$verb $program" in
	"run charge") "$BIN/charge" | person ;;
	"run hello") exec "$BIN/hello" ;;
	run*) shift 2 && "$BIN/$program" "$@" ;;
	test*) (command cd "$ROOT" && command go "$@") ;;
	esac
}
`

// TestReadmeRunsAsPrinted runs the commands of the README's doors in one shell, against a
// sandbox of its own, and compares what they print; … stands for anything.
func TestReadmeRunsAsPrinted(t *testing.T) {
	t.Parallel()
	needs(t, "bash", "curl")
	bin, dir := t.TempDir(), t.TempDir()
	program, err := programtest.Build(t.Context(), bin)
	require.NoError(t, err)
	free := freePorts(t, []string{"8081"})
	buildHello(t, bin, free)
	out, err := goBuild(t, "-o", bin, "./examples/charge", "./examples/agent").CombinedOutput()
	require.NoError(t, err, "%s", out)
	service := sandbox(t, program, dir)
	root, err := filepath.Abs("../..")
	require.NoError(t, err)

	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	script, want := consoles(strings.ReplaceAll(free.Replace(string(text)), "127.0.0.1:4020", service))
	require.Len(t, want, 7)
	run := exec.CommandContext(t.Context(), "bash", "-c", readmeShell+script)
	run.Dir, run.Env = dir, append(os.Environ(), "BIN="+bin, "ROOT="+root)
	run.WaitDelay = 20 * time.Second
	var errs strings.Builder
	run.Stderr = &errs
	out, err = run.Output()
	require.NoError(t, err, "%s%s", out, errs.String())
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for _, w := range want {
		found := false
		for !found && lines.Scan() {
			found = w.MatchString(lines.Text())
		}
		require.True(t, found, "%s is not printed, or not in this order:\n%s%s", w, out, errs.String())
	}
}

// consoles returns the commands of a text's console blocks, and what they must print.
func consoles(text string) (script string, want []*regexp.Regexp) {
	var b strings.Builder
	for _, block := range fence.FindAllStringSubmatch(text, -1) {
		if block[1] != "console" {
			continue
		}
		for line := range strings.Lines(block[2]) {
			line = strings.TrimSuffix(line, "\n")
			if command, is := strings.CutPrefix(line, "$ "); is {
				b.WriteString(command + "\n")
			} else if line != "…" {
				pattern := strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*")
				want = append(want, regexp.MustCompile("^"+pattern+"$"))
			}
		}
	}
	return b.String(), want
}
