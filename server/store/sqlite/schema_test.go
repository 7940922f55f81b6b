package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger/ledgertest"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pay.db")
	pool, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	database := ledgertest.Database{True: "1", Open: func(ctx context.Context) (store.Store, error) { return sqlite.Open(ctx, path) }}
	ledgertest.RunNewerSchema(t, database, func(ctx context.Context, statement string) error {
		_, err := pool.ExecContext(ctx, statement)
		return err
	})
}
