package storetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// accessTokens: a merchant has several, listed newest first; each is revoked by its merchant
// alone, counts its last use, and is deleted some time after it expired.
func accessTokens(t *testing.T, b *bench) {
	ctx, m, now := t.Context(), b.merchant, b.clock.Now()
	other := ledger.Merchant{ID: id.New(id.Merchant, now), Name: "Other", Active: true, CreatedAt: now}
	require.NoError(t, b.store.PutMerchant(ctx, other))
	var all []store.AccessToken
	for i, merchantID := range []string{m.ID, m.ID, other.ID} {
		at := now.Add(time.Duration(i) * time.Millisecond)
		all = append(all, store.AccessToken{
			Hash: string(rune('a' + i)), ID: id.New(id.AccessToken, at), MerchantID: merchantID, MandateID: "del_1", Name: "shopping", Hint: "wxyz",
			Scopes: []string{"pay", "balance"}, CreatedAt: at, ExpiresAt: at.AddDate(0, 0, 90),
		})
		require.NoError(t, b.store.AddAccessToken(ctx, all[i]))
	}
	first, second := all[0], all[1]
	require.ErrorIs(t, b.store.AddAccessToken(ctx, first), ledger.ErrConflict)
	got, owner, err := b.store.AccessToken(ctx, first.Hash)
	require.NoError(t, err)
	require.Equal(t, first, got)
	require.Equal(t, m, owner)
	_, _, err = b.store.AccessToken(ctx, "none")
	require.ErrorIs(t, err, ledger.ErrNotFound)

	for before, want := range map[string][]store.AccessToken{"": {second, first}, second.ID: {first}, first.ID: {}} {
		list, err := b.store.AccessTokens(ctx, m.ID, before, 10)
		require.NoError(t, err)
		require.Equal(t, want, list)
	}
	list, err := b.store.AccessTokens(ctx, m.ID, "", 1)
	require.NoError(t, err)
	require.Equal(t, []store.AccessToken{second}, list)

	used := now.Add(time.Minute)
	require.NoError(t, b.store.UseAccessToken(ctx, first.Hash, used))
	require.NoError(t, b.store.UseAccessToken(ctx, first.Hash, used.Add(-time.Minute)), "an earlier use changes nothing")
	require.NoError(t, b.store.UseAccessToken(ctx, "none", used))
	got, err = b.store.AccessTokenOf(ctx, m.ID, first.ID)
	require.NoError(t, err)
	require.Equal(t, used, got.UsedAt)
	_, err = b.store.AccessTokenOf(ctx, other.ID, first.ID)
	require.ErrorIs(t, err, ledger.ErrNotFound)

	counted := func(at time.Time, want int) {
		n, err := b.store.ValidAccessTokens(ctx, m.ID, at)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	counted(now, 2)
	for _, try := range []struct {
		merchantID string
		revoked    bool
	}{{other.ID, false}, {m.ID, true}, {m.ID, false}} {
		revoked, err := b.store.RevokeAccessToken(ctx, try.merchantID, first.ID, used)
		require.NoError(t, err)
		require.Equal(t, try.revoked, revoked)
	}
	got, _, err = b.store.AccessToken(ctx, first.Hash)
	require.NoError(t, err)
	require.Equal(t, used, got.RevokedAt)
	counted(now, 1)
	counted(second.ExpiresAt, 0)

	b.clock.set(second.ExpiresAt.Add(ledger.Keep - time.Second))
	b.expire(t)
	_, _, err = b.store.AccessToken(ctx, second.Hash)
	require.NoError(t, err, "kept for a while")
	b.clock.set(second.ExpiresAt.Add(ledger.Keep + time.Second))
	b.expire(t)
	_, _, err = b.store.AccessToken(ctx, second.Hash)
	require.ErrorIs(t, err, ledger.ErrNotFound)
}
