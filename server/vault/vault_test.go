package vault_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/server/vault"
)

func key(fill byte) []byte { return bytes.Repeat([]byte{fill}, 32) }

func setup(t require.TestingT, keys ...[]byte) *vault.Vault {
	l, err := vault.NewLocal(keys...)
	require.NoError(t, err)
	return vault.New(l)
}

func TestOpensOnlyUnderItsLabel(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	v := setup(t, key(1))
	label := vault.Label{Purpose: "session-key", Owner: "del_1"}
	sealed, err := v.Seal(ctx, label, []byte("secret"))
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "secret")
	got, err := v.Open(ctx, label, sealed)
	require.NoError(t, err)
	require.Equal(t, "secret", string(got))
	for _, other := range []vault.Label{
		{Purpose: "session-key", Owner: "del_2"},
		{Purpose: "token", Owner: "del_1"},
		{Purpose: "session-keyd", Owner: "el_1"},
		{},
	} {
		_, err := v.Open(ctx, other, sealed)
		require.ErrorIs(t, err, vault.ErrSealed)
	}
}

func TestAnyChangedByteIsFound(t *testing.T) {
	t.Parallel()
	v := setup(t, key(1))
	rapid.Check(t, func(rt *rapid.T) {
		label := vault.Label{Purpose: "p", Owner: "o"}
		secret := rapid.SliceOf(rapid.Byte()).Draw(rt, "secret")
		sealed, err := v.Seal(t.Context(), label, secret)
		require.NoError(rt, err)
		i := rapid.IntRange(0, len(sealed)-1).Draw(rt, "at")
		sealed[i] ^= byte(rapid.IntRange(1, 255).Draw(rt, "flip"))
		_, err = v.Open(t.Context(), label, sealed)
		require.ErrorIs(rt, err, vault.ErrSealed)
		_, err = v.Open(t.Context(), label, sealed[:i])
		require.ErrorIs(rt, err, vault.ErrSealed)
	})
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	label := vault.Label{Purpose: "p", Owner: "o"}
	old, err := setup(t, key(1)).Seal(ctx, label, []byte("x"))
	require.NoError(t, err)
	both := setup(t, key(2), key(1))
	_, err = both.Open(ctx, label, old)
	require.NoError(t, err)
	fresh, err := both.Seal(ctx, label, []byte("x"))
	require.NoError(t, err)
	_, err = setup(t, key(2)).Open(ctx, label, fresh)
	require.NoError(t, err)
	_, err = setup(t, key(2)).Open(ctx, label, old)
	require.ErrorIs(t, err, vault.ErrSealed)
}

func TestKeyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kek")
	first, err := vault.KeyFile(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	label := vault.Label{Purpose: "p"}
	sealed, err := vault.New(first).Seal(t.Context(), label, []byte("x"))
	require.NoError(t, err)
	again, err := vault.KeyFile(path)
	require.NoError(t, err)
	_, err = vault.New(again).Open(t.Context(), label, sealed)
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(path, []byte("c2hvcnQ=\n"), 0o600))
	_, err = vault.KeyFile(path)
	require.ErrorContains(t, err, "5 bytes, not 32")
	_, err = vault.NewLocal()
	require.Error(t, err)
}

// A running service uses a new key from its file. What is wrapped under the old key opens
// until that key is forgotten; what was rewrapped still opens afterwards.
func TestKeyFileRotatesUnderway(t *testing.T) {
	t.Parallel()
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "kek")
	wrapper, err := vault.KeyFile(path)
	require.NoError(t, err)
	v, label := vault.New(wrapper), vault.Label{Purpose: "p", Owner: "o"}
	old, err := v.Seal(ctx, label, []byte("x"))
	require.NoError(t, err)
	_, changed, err := v.Rewrap(ctx, label, old)
	require.NoError(t, err)
	require.False(t, changed)

	require.NoError(t, vault.AddKey(path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	_, err = v.Open(ctx, label, old)
	require.NoError(t, err)
	_, _, err = v.Rewrap(ctx, vault.Label{Purpose: "p", Owner: "another"}, old)
	require.ErrorIs(t, err, vault.ErrSealed)
	fresh, changed, err := v.Rewrap(ctx, label, old)
	require.NoError(t, err)
	require.True(t, changed)
	_, changed, err = v.Rewrap(ctx, label, fresh)
	require.NoError(t, err)
	require.False(t, changed)

	require.NoError(t, os.WriteFile(path+".bad", []byte("nonsense"), 0o600))
	require.Error(t, vault.AddKey(path+".bad"))
	require.NoError(t, vault.ForgetKeys(path))
	for _, one := range []*vault.Vault{v, vault.New(func() vault.Wrapper { w, err := vault.KeyFile(path); require.NoError(t, err); return w }())} {
		got, err := one.Open(ctx, label, fresh)
		require.NoError(t, err)
		require.Equal(t, "x", string(got))
		_, err = one.Open(ctx, label, old)
		require.ErrorIs(t, err, vault.ErrSealed)
	}
}
