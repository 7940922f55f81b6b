// Package storetest tests an implementation of [records.Store]:
//
//	func TestStore(t *testing.T) {
//		path := filepath.Join(t.TempDir(), "chain.db")
//		storetest.Run(t, func() (records.Store, error) { return sqlite.Open(t.Context(), path) })
//	}
package storetest

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/server/rail/chain/records"
)

// Open opens a store. The store is new at the first call and the same at each later one.
type Open func() (records.Store, error)

// Run runs the suite, each test on a new store.
func Run(t *testing.T, fresh func(t *testing.T) Open) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, Open){
		"keeps what a map keeps": keepsWhatAMapKeeps, "reopens": reopens, "a view does not write": viewDoesNotWrite,
		"a view sees one state": viewSeesOneState, "updates are serial": updatesAreSerial,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh(t))
		})
	}
}

func opened(t *testing.T, open Open) records.Store {
	t.Helper()
	s, err := open()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

var errGivenUp = errors.New("given up")

// keepsWhatAMapKeeps compares random transactions, some of which fail, with a map.
func keepsWhatAMapKeeps(t *testing.T, open Open) {
	s := opened(t, open)
	want := map[[2]string]string{}
	kinds, keys := rapid.SampledFrom([]string{"a", "b"}), rapid.SampledFrom([]string{"1", "2", "B", "a"})
	rapid.Check(t, func(rt *rapid.T) {
		kind, key := kinds.Draw(rt, "kind"), keys.Draw(rt, "key")
		value, del, keep := rapid.String().Draw(rt, "value"), rapid.Bool().Draw(rt, "delete"), rapid.Bool().Draw(rt, "keep")
		err := s.Update(t.Context(), func(tx records.Tx) error {
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
			require.NoError(rt, err)
			delete(want, [2]string{kind, key})
		default:
			require.NoError(rt, err)
			want[[2]string{kind, key}] = value
		}
		listsLikeAMap(rt, t, s, want, kind, keys.Draw(rt, "after"), rapid.IntRange(1, 4).Draw(rt, "limit"))
	})
}

// listsLikeAMap checks that records are listed in the order of their keys' bytes.
func listsLikeAMap(rt *rapid.T, t *testing.T, s records.Store, want map[[2]string]string, kind, after string, limit int) {
	require.NoError(rt, s.View(t.Context(), func(tx records.Tx) error {
		got, err := tx.List(kind, after, limit)
		require.NoError(rt, err)
		var expected []string
		for _, k := range []string{"1", "2", "B", "a"} {
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
}

func reopens(t *testing.T, open Open) {
	s := opened(t, open)
	require.NoError(t, s.Update(t.Context(), func(tx records.Tx) error { return tx.Put("kind", "key", []byte("value")) }))
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.Error(t, s.View(t.Context(), func(records.Tx) error { return nil }))
	require.Error(t, s.Update(t.Context(), func(records.Tx) error { return nil }))
	require.NoError(t, opened(t, open).View(t.Context(), func(tx records.Tx) error {
		value, found, err := tx.Get("kind", "key")
		require.True(t, found)
		require.Equal(t, "value", string(value))
		return err
	}))
}

func viewDoesNotWrite(t *testing.T, open Open) {
	s := opened(t, open)
	require.Error(t, s.View(t.Context(), func(tx records.Tx) error { return tx.Put("kind", "key", []byte("value")) }))
}

func viewSeesOneState(t *testing.T, open Open) {
	s := opened(t, open)
	require.NoError(t, s.View(t.Context(), func(tx records.Tx) error {
		_, found, err := tx.Get("kind", "key")
		require.NoError(t, err)
		require.False(t, found)
		require.NoError(t, s.Update(t.Context(), func(tx records.Tx) error { return tx.Put("kind", "key", []byte("value")) }))
		_, found, err = tx.Get("kind", "key")
		require.False(t, found)
		return err
	}))
}

// updatesAreSerial counts in two stores on the same records, as two instances do: a
// value that an update read must not change before it writes.
func updatesAreSerial(t *testing.T, open Open) {
	const callers, each = 4, 10
	stores := []records.Store{opened(t, open), opened(t, open)}
	var all sync.WaitGroup
	failed := make(chan error, callers*each)
	for i := range callers {
		all.Go(func() {
			for range each {
				if err := stores[i%len(stores)].Update(t.Context(), increment); err != nil {
					failed <- err
				}
			}
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		require.NoError(t, err)
	}
	require.NoError(t, stores[0].View(t.Context(), func(tx records.Tx) error {
		value, _, err := tx.Get("kind", "count")
		require.Equal(t, strconv.Itoa(callers*each), string(value))
		return err
	}))
}

func increment(tx records.Tx) error {
	value, found, err := tx.Get("kind", "count")
	if err != nil {
		return err
	}
	n := 0
	if found {
		if n, err = strconv.Atoi(string(value)); err != nil {
			return err
		}
	}
	return tx.Put("kind", "count", []byte(strconv.Itoa(n+1)))
}
