package litedb_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/litedb"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "odd name?&#%.db")
	db, err := litedb.Open(path, litedb.Options{Pragmas: []string{"foreign_keys(1)"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.Write.ExecContext(t.Context(), "CREATE TABLE t (n INTEGER)")
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	_, err = db.Read.ExecContext(t.Context(), "INSERT INTO t VALUES (1)")
	require.Error(t, err, "the reading pool cannot write")
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1"} {
		var got string
		require.NoError(t, db.Write.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got))
		require.Equal(t, want, got, pragma)
	}
}

func TestMissingFolderIsNamed(t *testing.T) {
	t.Parallel()
	_, err := litedb.Open(filepath.Join(t.TempDir(), "none", "x.db"), litedb.Options{})
	require.ErrorContains(t, err, filepath.Join("none", "x.db"))
}
