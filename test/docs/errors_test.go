package docs_test

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/programtest"
)

var (
	shell  = regexp.MustCompile("(?s)```sh\n(.*?)```")
	status = regexp.MustCompile(`(?m)^HTTP status (\d+)\.$`)
	body   = regexp.MustCompile(`(?m)^\{.*\}\r?$`)
)

// TestErrorPagesShowWhatTheySay: the commands of each page under docs/errors, run as
// they are printed against a sandbox of its own, end with the page's status and code.
func TestErrorPagesShowWhatTheySay(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			if strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "curl") {
				t.Fatalf("%s is required and not installed", tool)
			}
			t.Skipf("needs %s, which is not installed", tool)
		}
	}
	program := build(t)
	list, err := os.ReadFile("../../docs/errors/README.md")
	require.NoError(t, err)
	variables := commands(t, string(list))
	pages, err := filepath.Glob("../../docs/errors/[a-z]*.md")
	require.NoError(t, err)
	require.Greater(t, len(pages), 30)
	for _, page := range pages {
		code := strings.TrimSuffix(filepath.Base(page), ".md")
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			require.Contains(t, string(list), "[`"+code+"`]("+code+".md)", "the list of errors does not have it")
			require.NotContains(t, string(text), "dashboard")
			said := status.FindStringSubmatch(string(text))
			require.NotNil(t, said)

			dir := t.TempDir()
			sandbox(t, program, dir)
			run := exec.CommandContext(t.Context(), "bash", "-c", "set -u\n"+variables+"\n"+commands(t, string(text)))
			run.Dir = dir
			var errs strings.Builder
			run.Stderr = &errs
			out, err := run.Output()
			require.NoError(t, err, "%s%s", out, errs.String())
			answers := body.FindAllString(string(out), -1)
			require.NotEmpty(t, answers, "%s%s", out, errs.String())
			var last struct {
				Code, Message, DocURL string
			}
			require.NoError(t, json.Unmarshal([]byte(answers[len(answers)-1]), &last))
			require.Equal(t, code, last.Code, "%s", out)
			require.NotEmpty(t, last.Message)
			require.True(t, strings.HasSuffix(last.DocURL, "/docs/errors/"+code+".md"), "docUrl: %q", last.DocURL)
			lines := regexp.MustCompile(`(?m)^HTTP/1\.1 (\d+)`).FindAllStringSubmatch(string(out), -1)
			require.Equal(t, said[1], lines[len(lines)-1][1], "%s", out)
		})
	}
}

// commands are those of the first block of a page.
func commands(t *testing.T, text string) string {
	t.Helper()
	found := shell.FindStringSubmatch(text)
	require.NotNil(t, found)
	return found[1]
}

func build(t *testing.T) string {
	t.Helper()
	program, err := programtest.Build(t.Context(), t.TempDir())
	require.NoError(t, err)
	return program
}

// sandbox runs dev until the test ends, with its line in dir/dev.json and dir/dev.env. It
// returns the address of the service.
func sandbox(t *testing.T, program, dir string) (address string) {
	t.Helper()
	dev := exec.CommandContext(t.Context(), program, "dev", "--addr", "127.0.0.1:0", "--env", filepath.Join(dir, "dev.env"))
	dev.Cancel = func() error { return dev.Process.Signal(syscall.SIGTERM) }
	dev.WaitDelay = 20 * time.Second
	out, err := dev.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, dev.Start())
	t.Cleanup(func() { _ = dev.Wait() }) // the context of the test ended before
	line, err := bufio.NewReader(out).ReadBytes('\n')
	require.NoError(t, err, "dev did not start")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dev.json"), line, 0o600))
	var ready struct{ BaseURL string }
	require.NoError(t, json.Unmarshal(line, &ready))
	u, err := url.Parse(ready.BaseURL)
	require.NoError(t, err)
	return u.Host
}
