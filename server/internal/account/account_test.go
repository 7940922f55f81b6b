package account_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/internal/account"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

// setup is two instances' accounts on one store.
func setup(t *testing.T) (ours, theirs *account.Accounts, db store.Store) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	cfg := account.Config{Store: db, Clock: time.Now}
	return account.New(cfg), account.New(cfg), db
}

// What one instance changes, the other sees at the next request.
func TestRevokedKeysAndInactiveMerchantsAreSeenAtOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ours, theirs, db := setup(t)
	made, err := ours.Create(ctx, account.NewMerchant{Name: "Acme"})
	require.NoError(t, err)
	second, labelled, err := ours.IssueKey(ctx, made.Merchant.ID, "billing")
	require.NoError(t, err)
	for _, key := range []string{made.APIKey, second} {
		_, m, err := theirs.Authenticate(ctx, made.Merchant.ID, key)
		require.NoError(t, err)
		require.True(t, m.Active)
	}
	keys, err := db.APIKeys(ctx, made.Merchant.ID)
	require.NoError(t, err)
	require.Len(t, keys, 2)
	if keys[0].Label == "billing" { // keys of one millisecond have no order
		slices.Reverse(keys)
	}
	require.Equal(t, made.APIKey[len(made.APIKey)-4:], keys[0].Hint)
	require.Equal(t, "billing", labelled.Label)
	revoked, err := ours.RevokeKey(ctx, keys[0].ID()[:12])
	require.NoError(t, err)
	require.Equal(t, keys[0].ID(), revoked.ID())
	_, err = ours.RevokeKey(ctx, keys[0].ID())
	require.ErrorIs(t, err, account.ErrKeyRevoked)
	_, _, err = theirs.Authenticate(ctx, made.Merchant.ID, made.APIKey)
	require.ErrorIs(t, err, client.ErrUnauthorized)

	_, m, err := theirs.Authenticate(ctx, made.Merchant.ID, second)
	require.NoError(t, err)
	require.NoError(t, db.SetMerchantActive(ctx, m.ID, false))
	_, m, err = theirs.Authenticate(ctx, made.Merchant.ID, second)
	require.NoError(t, err, "who is inactive may still ask")
	require.False(t, m.Active, "and is refused by the ledger")
}

func TestKeyOfAnotherMerchantIsRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ours, _, _ := setup(t)
	one, err := ours.Create(ctx, account.NewMerchant{Name: "One"})
	require.NoError(t, err)
	two, err := ours.Create(ctx, account.NewMerchant{Name: "Two"})
	require.NoError(t, err)
	_, _, err = ours.Authenticate(ctx, one.Merchant.ID, two.APIKey)
	require.ErrorIs(t, err, client.ErrUnauthorized)
	_, _, err = ours.Authenticate(ctx, one.Merchant.ID, one.APIKey+"x")
	require.ErrorIs(t, err, client.ErrUnauthorized)
}

func TestKeysAreNamedByTheirIDAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ours, _, db := setup(t)
	made, err := ours.Create(ctx, account.NewMerchant{Name: "Acme"})
	require.NoError(t, err)
	for _, name := range []string{"", "key_", "key_0", "key_zzzzzzzz", "key_%%%%%%%%", made.APIKey, made.Merchant.ID} {
		_, err = ours.RevokeKey(ctx, name)
		require.ErrorIs(t, err, ledger.ErrNotFound, name)
		require.NotContains(t, err.Error(), made.APIKey)
	}
	for _, hash := range []string{"aaaaaaaaaaaa1", "aaaaaaaaaaaa2"} {
		require.NoError(t, db.AddAPIKey(ctx, store.APIKey{Hash: hash, MerchantID: made.Merchant.ID}))
	}
	_, err = ours.RevokeKey(ctx, "key_aaaaaaaa")
	require.ErrorIs(t, err, account.ErrKeyAmbiguous)
	_, _, err = ours.Authenticate(ctx, made.Merchant.ID, made.APIKey)
	require.NoError(t, err)
}

func TestWalletOfAnotherMerchantIsRefusedInPlainWords(t *testing.T) {
	t.Parallel()
	ours, _, _ := setup(t)
	_, err := ours.Create(t.Context(), account.NewMerchant{Name: "One", PayTo: "0xAb"})
	require.NoError(t, err)
	_, err = ours.Create(t.Context(), account.NewMerchant{Name: "Two", PayTo: "0xaB"})
	require.ErrorIs(t, err, account.ErrWalletTaken)
	require.NotContains(t, err.Error(), "UNIQUE")
}
