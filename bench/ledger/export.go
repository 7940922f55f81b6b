package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/programtest"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// exports measures the time in which the program exports many charges, and its memory
// against that of an export of a tenth of them, which fills the engine's cache as well.
func exports(ctx context.Context, t *table, e engine) (err error) {
	dir, err := os.MkdirTemp("", "bench-export")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := programtest.Build(ctx, dir)
	if err != nil {
		return err
	}
	var took time.Duration
	var peaks []int64
	for _, n := range []int{many / 10, many} {
		s, err := filled(ctx, e, n)
		if err != nil {
			return err
		}
		config, err := configured(ctx, s.store, e.address(), dir)
		if err == nil {
			var peak int64
			took, peak, err = exported(ctx, program, config, n)
			peaks = append(peaks, peak)
		}
		s.close()
		if err != nil {
			return err
		}
	}
	t.add(figure{what: e.name + ", export of 1,000,000 charges as CSV", got: took.Seconds(), unit: " s", aim: 20, below: true})
	if peaks[0] > 0 {
		t.add(figure{
			what: e.name + ", memory of an export of 1,000,000 against 100,000 charges", got: float64(peaks[1]) / float64(peaks[0]),
			unit: "×", aim: 1.5, below: true, note: fmt.Sprintf("at most %d MiB against %d MiB", peaks[1]>>20, peaks[0]>>20),
		})
	}
	return nil
}

// configured returns a configuration file of a service that owns the store at an address.
func configured(ctx context.Context, store ledger.Owned, address, dir string) (string, error) {
	const origin = "http://127.0.0.1:4020"
	if err := server.ClaimStore(ctx, store, server.Sandbox, origin, false); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "pay.toml")
	text := fmt.Sprintf("mode = \"sandbox\"\nbase_url = %q\nstore = %q\nkey_file = %q\n", origin, address, filepath.Join(dir, "kek"))
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// exported runs an export, which must have n rows, and returns its time and the most memory
// that it had resident, in bytes; zero if the system does not report it.
func exported(ctx context.Context, program, config string, n int) (took time.Duration, peak int64, err error) {
	out := filepath.Join(filepath.Dir(config), "out.csv")
	cmd := exec.CommandContext(ctx, program, "export", "transactions", "--config", config, "--out", out)
	report, err := cmd.StderrPipe()
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, 0, err
	}
	done := make(chan struct{})
	var rows int
	var said []byte
	var unread error
	go func() {
		defer close(done)
		if said, unread = io.ReadAll(report); unread == nil {
			_, unread = fmt.Sscanf(string(said), "exported %d transactions", &rows)
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		case <-time.After(20 * time.Millisecond):
			peak = max(peak, resident(cmd.Process.Pid))
		}
	}
	if err = cmd.Wait(); err != nil {
		err = fmt.Errorf("export: %w: %s", err, said)
	}
	took = time.Since(start)
	if err == nil && rows != n {
		err = fmt.Errorf("export has %d rows, not %d: %w", rows, n, unread)
	}
	return took, peak, err
}

// resident returns the most bytes that a process had resident. It is not taken from the
// usage of the ended process, which includes that of its parent before exec.
func resident(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	var kib int64
	for _, line := range strings.Split(string(status), "\n") {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	return 0
}
