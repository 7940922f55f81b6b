package account_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/server/internal/account"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/ledger/sqlite"
)

// setup is two instances' accounts on one store.
func setup(t *testing.T) (ours, theirs *account.Accounts, store ledger.Store) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	cfg := account.Config{Store: store, Clock: clock.System{}}
	return account.New(cfg), account.New(cfg), store
}

// What one instance changes, the other sees at the next request.
func TestRevokedKeysAndInactiveMerchantsAreSeenAtOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ours, theirs, store := setup(t)
	made, err := ours.Create(ctx, account.NewMerchant{Name: "Acme"})
	require.NoError(t, err)
	second, err := ours.IssueKey(ctx, made.Merchant.ID)
	require.NoError(t, err)
	for _, key := range []string{made.APIKey, second} {
		m, err := theirs.Authenticate(ctx, made.Merchant.ID, key)
		require.NoError(t, err)
		require.True(t, m.Active)
	}
	require.NoError(t, ours.RevokeKey(ctx, made.APIKey))
	_, err = theirs.Authenticate(ctx, made.Merchant.ID, made.APIKey)
	require.ErrorIs(t, err, client.ErrUnauthorized)

	m, err := theirs.Authenticate(ctx, made.Merchant.ID, second)
	require.NoError(t, err)
	m.Active = false
	require.NoError(t, store.PutMerchant(ctx, m))
	m, err = theirs.Authenticate(ctx, made.Merchant.ID, second)
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
	_, err = ours.Authenticate(ctx, one.Merchant.ID, two.APIKey)
	require.ErrorIs(t, err, client.ErrUnauthorized)
	_, err = ours.Authenticate(ctx, one.Merchant.ID, one.APIKey+"x")
	require.ErrorIs(t, err, client.ErrUnauthorized)
}
