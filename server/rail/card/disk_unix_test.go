//go:build unix

package card_test

import (
	"fmt"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
)

// limitFiles makes every write beyond a size fail, as on a disk that is full.
func limitFiles(bytes uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: bytes})
}

// TestFullDiskIsNeverAnsweredAsDone fills the processor's disk under charges. What
// cannot be made durable is an error, what was answered before stays readable,
// and after a start with free space every charge is decided, once.
func TestFullDiskIsNeverAnsweredAsDone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "card.db")
	v := startVictim(t, path, victimLimit+"=400000")
	r := newRail(t, v.gateway)
	instrument := connect(t, r, "card_visa")
	answered, failed := map[string]rail.Outcome{}, []string{}
	for i := 0; len(failed) < 5; i++ {
		require.Less(t, i, 10_000, "the disk never fills")
		reference := fmt.Sprintf("txn_%d", i)
		outcome, err := r.Charge(t.Context(), charge(reference, instrument))
		if err != nil {
			failed = append(failed, reference)
			continue
		}
		require.Equal(t, rail.Succeeded, outcome.Status)
		answered[reference] = outcome
	}
	require.NotEmpty(t, answered)
	same := func(r rail.Rail) {
		for reference, outcome := range answered {
			found, err := r.Lookup(t.Context(), reference)
			require.NoError(t, err)
			require.Equal(t, outcome, found)
		}
	}
	same(r)
	v.kill(t)
	v = startVictim(t, path)
	r = newRail(t, v.gateway)
	same(r)
	for _, reference := range failed {
		outcome, err := r.Charge(t.Context(), charge(reference, instrument))
		require.NoError(t, err)
		require.Equal(t, rail.Succeeded, outcome.Status)
	}
	totals, err := v.gateway.Totals(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, len(answered)+len(failed), totals.Payments)
	v.kill(t)
}
