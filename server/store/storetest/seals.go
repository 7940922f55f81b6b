package storetest

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// sealedKeys: a name is added once, replaced by Put, and listed by its prefix.
func sealedKeys(t *testing.T, b *bench) {
	ctx := t.Context()
	for _, name := range []string{"issuer/b", "issuer/a", "issuers", "session/x"} {
		k := store.SealedKey{
			Name: name, State: "next", Public: []byte("p"), Sealed: []byte("s"), CreatedAt: b.clock.Now(), ChangedAt: b.clock.Now(),
		}
		require.NoError(t, b.store.AddSealedKey(ctx, k))
		k.State = "current"
		require.ErrorIs(t, b.store.AddSealedKey(ctx, k), ledger.ErrConflict)
		require.NoError(t, b.store.PutSealedKey(ctx, k))
	}
	keys, err := b.store.SealedKeys(ctx, "issuer/")
	require.NoError(t, err)
	require.Len(t, keys, 2)
	require.Equal(t, "issuer/a", keys[0].Name)
	require.Equal(t, "current", keys[0].State)
	require.NoError(t, b.store.DeleteSealedKey(ctx, "issuer/a"))
	require.NoError(t, b.store.DeleteSealedKey(ctx, "issuer/a"))
	keys, err = b.store.SealedKeys(ctx, "issuer/")
	require.NoError(t, err)
	require.Len(t, keys, 1)
}

// seals: all sealed secrets are listed in pages. Each is replaced only if it has not changed
// since.
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
		after = page[1].ID
	}
	require.Len(t, found, 3, "nothing is sealed in a mark")
	require.Equal(t, store.Seal{Kind: store.KeySeal, ID: "a", Owner: "a", Sealed: []byte("sealed a")}, found[0])

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
