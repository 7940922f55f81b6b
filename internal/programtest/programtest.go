// Package programtest builds the paywarrant program for tests that run it as a child
// process. The tests of a checkout share one binary for each set of build tags: it is
// linked again only if the source has changed.
package programtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Build puts the program into a folder and returns its path. The folder's copy stays as
// it is when another test builds the program again.
func Build(ctx context.Context, dir string, tags ...string) (string, error) {
	program := filepath.Join(dir, "paywarrant")
	if err := build(ctx, program, tags); err != nil {
		return "", fmt.Errorf("build program: %w", err)
	}
	return program, nil
}

func build(ctx context.Context, program string, tags []string) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	kept := filepath.Join(root, ".cache", "programs", strings.Join(append([]string{"paywarrant"}, tags...), "-"))
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil { //nolint:gosec // like every build output
		return err
	}
	unlock, err := lock(kept + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	// With -o, go build leaves a binary that is up to date as it is.
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-tags", strings.Join(tags, ","), "-o", kept, "./cmd/paywarrant") //nolint:gosec // tags of our own tests
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if os.Link(kept, program) == nil {
		return nil
	}
	return copyFile(program, kept) // another file system
}

// lock waits for other processes that build the same program.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { _ = file.Close() }, nil // which unlocks it
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700) //nolint:gosec // a program
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

// moduleRoot is the folder above the working directory that has the program and go.mod. The
// module of test/ has none of it.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		_, noModule := os.Stat(filepath.Join(dir, "go.mod"))
		_, noProgram := os.Stat(filepath.Join(dir, "cmd", "paywarrant"))
		if noModule == nil && noProgram == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("the working directory is not in the module of cmd/paywarrant")
		}
		dir = above
	}
	return "", err
}
