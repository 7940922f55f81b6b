package card_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
)

// folder is a store's neighbourhood.
type folder string

func (f folder) SidecarPath(name string) string { return filepath.Join(string(f), name) }

func TestSandboxOpensItsFileLateAndKeepsIt(t *testing.T) {
	t.Parallel()
	near := folder(filepath.Join(t.TempDir(), "later"))
	r := card.Sandbox(near)
	_, err := r.Lookup(t.Context(), "txn_1.fiatrail")
	require.ErrorIs(t, err, os.ErrNotExist, "the first call tells that the folder is missing")
	require.NoError(t, os.Mkdir(string(near), 0o700))
	c := charge("txn_1.fiatrail", connect(t, r, "card_visa"))
	paid, err := r.Charge(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, rail.Succeeded, paid.Status)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	_, err = r.Charge(t.Context(), c)
	require.ErrorIs(t, err, card.ErrClosed)

	again := card.Sandbox(near)
	found, err := again.Lookup(t.Context(), c.Reference)
	require.NoError(t, err)
	require.Equal(t, paid, found)
	require.NoError(t, again.Close())
}

func TestSandboxThatWasNeverUsedLeavesNothing(t *testing.T) {
	t.Parallel()
	near := folder(t.TempDir())
	r := card.Sandbox(near)
	require.Equal(t, rail.Card, r.Name())
	require.NoError(t, r.Close())
	entries, err := os.ReadDir(string(near))
	require.NoError(t, err)
	require.Empty(t, entries)
}
