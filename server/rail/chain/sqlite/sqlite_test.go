package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/rail/chain/sqlite"
)

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// TestKeepsWhatAMapKeeps compares random transactions, some of which are given up,
// with a map.
func TestKeepsWhatAMapKeeps(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "a b?.db"))
	want := map[[2]string]string{}
	kinds, keys := rapid.SampledFrom([]string{"a", "b"}), rapid.SampledFrom([]string{"1", "2", "3", "4"})
	errGivenUp := errors.New("given up")
	rapid.Check(t, func(rt *rapid.T) {
		kind, key := kinds.Draw(rt, "kind"), keys.Draw(rt, "key")
		value, del, keep := rapid.String().Draw(rt, "value"), rapid.Bool().Draw(rt, "delete"), rapid.Bool().Draw(rt, "keep")
		err := s.Update(t.Context(), func(tx chain.Tx) error {
			before, found, err := tx.Get(kind, key)
			require.NoError(rt, err)
			old, had := want[[2]string{kind, key}]
			require.Equal(rt, had, found)
			require.Equal(rt, old, string(before))
			if del {
				require.NoError(rt, tx.Delete(kind, key))
			} else {
				require.NoError(rt, tx.Put(kind, key, []byte(value)))
			}
			if !keep {
				return errGivenUp
			}
			return nil
		})
		switch {
		case !keep:
			require.ErrorIs(rt, err, errGivenUp)
		case del:
			delete(want, [2]string{kind, key})
		default:
			want[[2]string{kind, key}] = value
		}
		after := keys.Draw(rt, "after")
		limit := rapid.IntRange(1, 4).Draw(rt, "limit")
		require.NoError(rt, s.View(t.Context(), func(tx chain.Tx) error {
			got, err := tx.List(kind, after, limit)
			require.NoError(rt, err)
			var expected []string
			for _, k := range []string{"1", "2", "3", "4"} {
				if _, ok := want[[2]string{kind, k}]; ok && k > after && len(expected) < limit {
					expected = append(expected, k)
				}
			}
			require.Len(rt, got, len(expected))
			for i, k := range expected {
				require.Equal(rt, k, got[i].Key)
				require.Equal(rt, want[[2]string{kind, k}], string(got[i].Value))
			}
			return nil
		}))
	})
}

func TestReopens(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "chain.db")
	s := open(t, path)
	require.NoError(t, s.Update(t.Context(), func(tx chain.Tx) error { return tx.Put("kind", "key", []byte("value")) }))
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Error(t, s.View(t.Context(), func(chain.Tx) error { return nil }))
	s = open(t, path)
	require.NoError(t, s.View(t.Context(), func(tx chain.Tx) error {
		value, found, err := tx.Get("kind", "key")
		require.True(t, found)
		require.Equal(t, "value", string(value))
		return err
	}))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestViewDoesNotWrite(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "chain.db"))
	require.Error(t, s.View(t.Context(), func(tx chain.Tx) error { return tx.Put("kind", "key", nil) }))
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	_, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "missing", "chain.db"))
	require.ErrorIs(t, err, os.ErrNotExist)
	path := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(path, []byte("this is no database, and long enough to be read as one"), 0o600))
	_, err = sqlite.Open(t.Context(), path)
	require.Error(t, err)
}
