package ledgertest

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/store"
)

// seals: all that is sealed is listed, in pages, and is replaced only while it is
// what was read.
func seals(t *testing.T, b *bench) {
	now := time.Now()
	for _, name := range []string{"a", "b", "c"} {
		require.NoError(t, b.store.AddSealedKey(t.Context(), store.SealedKey{
			Name: name, State: "active", Public: []byte{1}, Sealed: []byte("sealed " + name), CreatedAt: now, ChangedAt: now,
		}))
	}
	require.NoError(t, b.store.AddSealedKey(t.Context(), store.SealedKey{Name: "b2", State: "mark", Public: []byte{}, Sealed: []byte{}, CreatedAt: now, ChangedAt: now}))
	var found []store.Seal
	for after := ""; ; {
		page, err := b.store.Seals(t.Context(), store.KeySeal, after, 2)
		require.NoError(t, err)
		found = append(found, page...)
		if len(page) < 2 {
			break
		}
		after = page[1].Place
	}
	require.Len(t, found, 3, "nothing is sealed in a mark")
	require.Equal(t, store.Seal{Kind: store.KeySeal, Place: "a", Owner: "a", Sealed: []byte("sealed a")}, found[0])

	done, err := b.store.Reseal(t.Context(), found[0], []byte("anew"))
	require.NoError(t, err)
	require.True(t, done)
	done, err = b.store.Reseal(t.Context(), found[0], []byte("late"))
	require.NoError(t, err)
	require.False(t, done, "it has changed since")
	require.NoError(t, b.store.DeleteSealedKey(t.Context(), "b"))
	done, err = b.store.Reseal(t.Context(), found[1], []byte("back from the dead"))
	require.NoError(t, err)
	require.False(t, done)
	keys, err := b.store.SealedKeys(t.Context(), "a")
	require.NoError(t, err)
	require.True(t, bytes.Equal([]byte("anew"), keys[0].Sealed))
	for _, kind := range store.SealKinds() {
		_, err := b.store.Seals(t.Context(), kind, "", 10)
		require.NoError(t, err, kind)
	}
	_, err = b.store.Seals(t.Context(), "unheard of", "", 10)
	require.Error(t, err)
	_, err = b.store.Reseal(t.Context(), store.Seal{Kind: "unheard of"}, nil)
	require.Error(t, err)
}
