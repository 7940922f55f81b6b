package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/ledger/ledgertest"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
	"github.com/paywarrant/paywarrant/server/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func opens(path string) storetest.Open {
	return func(ctx context.Context) (store.Store, error) { return sqlite.Open(ctx, path) }
}

func fresh(t *testing.T) ledgertest.Database {
	path := filepath.Join(t.TempDir(), "pay.db")
	return ledgertest.Database{Open: func(ctx context.Context) (ledger.Store, error) { return sqlite.Open(ctx, path) }}
}

func TestStore(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, fresh)
	storetest.Run(t, func(t *testing.T) storetest.Open { return opens(filepath.Join(t.TempDir(), "pay.db")) })
}

// TestCloseLeavesOneFile: SQLite merges the write-ahead log into the file only if nothing
// keeps a connection open.
func TestCloseLeavesOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pay.db")
	s, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	files, err := filepath.Glob(path + "*")
	require.NoError(t, err)
	require.Equal(t, []string{path}, files)
}

func TestSidecarsLieBesideTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), filepath.Join(dir, "pay.db"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Equal(t, filepath.Join(dir, "pay-card.db"), s.SidecarPath("card.db"))
}
