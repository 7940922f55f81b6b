// Package nodetest runs scripts on Node in tests, with packages from a folder's
// lock file:
//
//	project := nodetest.Open(t, "node") // node/package.json, node/package-lock.json
//	project.Run(t, "script.mjs", request, &answer)
package nodetest

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const runTimeout = 3 * time.Minute

// Project is a folder with installed packages.
type Project struct{ dir string }

// Open returns the project in dir, a path relative to the test's package. The
// packages must have been installed by test/npm.sh, which make test runs. If they
// are missing or out of date, the test is skipped; it fails if PAYWARRANT_REQUIRE
// names node.
func Open(t *testing.T, dir string) Project {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		t.Fatalf("nodetest: %v", err)
	}
	sum := sha256.Sum256(lock)
	mark, err := os.ReadFile(filepath.Join(dir, "node_modules", ".installed"))
	switch {
	case err == nil && strings.TrimSpace(string(mark)) == hex.EncodeToString(sum[:]):
		return Project{dir}
	case strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "node"):
		t.Fatalf("the Node packages of %s are missing or out of date: run test/npm.sh", dir)
	default:
		t.Skipf("the Node packages of %s are missing or out of date: run test/npm.sh", dir)
	}
	return Project{}
}

// Run gives a script a request as JSON on its standard input, and reads its
// answer as JSON from its standard output. A script that fails ends the test.
func (p Project) Run(t *testing.T, script string, request, answer any) {
	t.Helper()
	in, err := json.Marshal(request)
	if err != nil {
		t.Fatalf("nodetest: encode request: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", script)
	cmd.Dir = p.dir
	var out, errors bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errors
	if err := cmd.Run(); err != nil {
		t.Fatalf("nodetest: %s: %v\n%s", script, err, errors.String())
	}
	if err := json.Unmarshal(out.Bytes(), answer); err != nil {
		t.Fatalf("nodetest: %s answered %q: %v", script, out.String(), err)
	}
}

// Start runs a script that goes on until the test has ended: it reads a request
// as [Project.Run] gives it, and its first line of output is its answer.
func (p Project) Start(t *testing.T, script string, request, answer any) {
	t.Helper()
	in, err := json.Marshal(request)
	if err != nil {
		t.Fatalf("nodetest: encode request: %v", err)
	}
	ctx, end := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "node", script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Dir = p.dir
	var errors bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &errors
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		end()
		t.Fatalf("nodetest: start %s: %v", script, err)
	}
	t.Cleanup(func() {
		end()
		_ = cmd.Wait() // it was killed, and says so
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, answer)
	}
	if err != nil {
		end()
		_ = cmd.Wait() // what it wrote is complete only now
		t.Fatalf("nodetest: %s answered %q: %v\n%s", script, line, err, errors.String())
	}
}

// Command runs a program of one of the packages, with variables added to its
// environment, and gives what it wrote and how it ended.
func (p Project) Command(t *testing.T, env []string, program string, args ...string) (string, error) {
	t.Helper()
	cmd, cancel := p.command(t, program, args...)
	defer cancel()
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Watch is [Project.Command] for a program that needs something while it runs: seen is called
// with each line of its output.
func (p Project) Watch(t *testing.T, seen func(line string), program string, args ...string) (string, error) {
	t.Helper()
	cmd, cancel := p.command(t, program, args...)
	defer cancel()
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return "", err
	}
	var all strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		seen(lines.Text())
	}
	return all.String(), cmd.Wait()
}

// command is a program of one of the packages.
func (p Project) command(t *testing.T, program string, args ...string) (*exec.Cmd, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	path, err := filepath.Abs(filepath.Join(p.dir, "node_modules", ".bin", program))
	if err != nil {
		cancel()
		t.Fatalf("nodetest: %v", err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = p.dir
	return cmd, cancel
}
