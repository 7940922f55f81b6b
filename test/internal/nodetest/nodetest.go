// Package nodetest runs scripts on Node in tests, with packages from a folder's
// lock file:
//
//	project := nodetest.Open(t, "node") // node/package.json, node/package-lock.json
//	project.Run(t, "script.mjs", request, &answer)
//
// Without Node the test is skipped, or fails where PAYWARRANT_REQUIRE names node.
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
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	installTimeout = 3 * time.Minute
	runTimeout     = 3 * time.Minute
)

// installing lets one test at a time install.
var installing sync.Mutex

// Project is a folder whose packages are installed.
type Project struct{ dir string }

// Open installs the packages of a folder where its lock file has changed since.
func Open(t *testing.T, dir string) Project {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			missing(t, "needs "+program+", which is not installed")
		}
	}
	installing.Lock()
	defer installing.Unlock()
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		t.Fatalf("nodetest: %v", err)
	}
	sum := sha256.Sum256(lock)
	want := hex.EncodeToString(sum[:])
	mark := filepath.Join(dir, "node_modules", ".installed")
	if have, err := os.ReadFile(mark); err == nil && string(have) == want {
		return Project{dir}
	}
	ctx, cancel := context.WithTimeout(t.Context(), installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		missing(t, "its Node packages cannot be installed: "+err.Error()+"\n"+string(out))
	}
	if err := os.WriteFile(mark, []byte(want), 0o600); err != nil {
		t.Fatalf("nodetest: %v", err)
	}
	return Project{dir}
}

func missing(t *testing.T, why string) {
	t.Helper()
	if strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "node") {
		t.Fatal("node is required: " + why)
	}
	t.Skip(why)
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
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	path, err := filepath.Abs(filepath.Join(p.dir, "node_modules", ".bin", program))
	if err != nil {
		t.Fatalf("nodetest: %v", err)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = p.dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
