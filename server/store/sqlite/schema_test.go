package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/store/storetest"
)

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pay.db")
	pool, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	storetest.RunNewerSchema(t, opens(path), func(ctx context.Context, statement string) error {
		_, err := pool.ExecContext(ctx, statement)
		return err
	})
}
