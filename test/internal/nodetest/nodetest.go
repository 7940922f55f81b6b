// Package nodetest runs scripts on Node in tests, with packages from a folder's
// lock file:
//
//	project := nodetest.Open(t, "node") // node/package.json, node/package-lock.json
//	project.Run(t, "script.mjs", request, &answer)
//
// Without Node the test is skipped, or fails where PAYWARRANT_REQUIRE names node.
package nodetest

import (
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
	"testing"
	"time"
)

const (
	installTimeout = 3 * time.Minute
	runTimeout     = time.Minute
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
