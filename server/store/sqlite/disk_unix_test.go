//go:build unix

package sqlite_test

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger/ledgertest"
)

// TestFullDisk runs itself in a process of its own, whose files may not grow
// beyond a size for a while.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	const child = "LEDGER_FULL_DISK"
	if os.Getenv(child) == "" {
		self, err := os.Executable()
		require.NoError(t, err)
		run := exec.CommandContext(t.Context(), self, "-test.run", "^"+t.Name()+"$") // this program
		run.Env = append(os.Environ(), child+"=1")
		out, err := run.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "PASS")
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	ledgertest.RunFullDisk(t, fresh(t), func() error {
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 2 << 20, Max: before.Max})
	}, func() error {
		return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before)
	})
}
