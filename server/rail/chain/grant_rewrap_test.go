package chain_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/chain"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Session keys are wrapped under a new key-encryption key beside charges, and charge
// without the old one; a destroyed one stays destroyed.
func TestSessionKeysAreRewrapped(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kek")
	wrapper, err := vault.KeyFile(file)
	require.NoError(t, err)
	w := setup(t, devchain.Config{}, func(c *chain.Config) { c.Vault = vault.New(wrapper) })
	in, gone := w.connect(t, "1", chain.MethodWallet), w.connect(t, "2", chain.MethodWallet)
	require.NoError(t, w.rail.Disconnect(t.Context(), gone))
	require.NoError(t, vault.AddKey(file))
	require.Equal(t, rail.Succeeded, w.pay(t, charge("before", in)).Status)
	n, err := w.rail.Rewrap(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = w.rail.Rewrap(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, vault.ForgetKeys(file))
	w.restart(t)
	require.Equal(t, rail.Succeeded, w.pay(t, charge("after", in)).Status)
	require.Equal(t, rail.Unavailable, w.pay(t, charge("gone", gone)).Reason)
	require.NoError(t, w.rail.Start(t.Context()))
}
