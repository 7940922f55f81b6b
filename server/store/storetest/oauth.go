package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// oauthClients: a network registers a bounded number of apps in a period. A registration is
// kept if a code is redeemed, and deleted some time after it expired.
func oauthClients(t *testing.T, b *bench) {
	ctx, now := t.Context(), b.clock.Now()
	add := func(id, network string, at time.Time) bool {
		done, err := b.store.AddOAuthClient(ctx, store.OAuthClient{
			ID: id, Name: "Shop's assistant", RedirectURIs: []string{"https://a.example/cb?x=1", "http://127.0.0.1/cb"}, Network: network,
			CreatedAt: at, ExpiresAt: at.Add(time.Hour),
		}, at.Add(-time.Hour), 2)
		require.NoError(t, err)
		return done
	}
	require.True(t, add("a", "n", now))
	require.True(t, add("b", "n", now))
	require.False(t, add("c", "n", now))
	require.True(t, add("c", "m", now))
	require.True(t, add("d", "n", now.Add(time.Hour)))
	got, err := b.store.OAuthClient(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, store.OAuthClient{
		ID: "a", Name: "Shop's assistant", RedirectURIs: []string{"https://a.example/cb?x=1", "http://127.0.0.1/cb"}, Network: "n",
		CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}, got)
	_, err = b.store.OAuthClient(ctx, "none")
	require.ErrorIs(t, err, ledger.ErrNotFound)

	b.grant(t, "not redeemed", "c")
	g := b.grant(t, "code", "a")
	_, err = b.exchange(t, g, "code", "1")
	require.NoError(t, err)
	later := g.CreatedAt.AddDate(1, 0, 0)
	b.clock.set(now.Add(time.Hour + ledger.Keep + time.Second))
	b.expire(t)
	got, err = b.store.OAuthClient(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, later, got.ExpiresAt)
	for _, unused := range []string{"b", "c"} {
		_, err = b.store.OAuthClient(ctx, unused)
		require.ErrorIs(t, err, ledger.ErrNotFound, unused)
	}
}

// grant adds a grant of the merchant to an app, with a code of the hash.
func (b *bench) grant(t *testing.T, code, app string) store.OAuthGrant {
	t.Helper()
	now := b.clock.Now()
	g := store.OAuthGrant{
		ID: id.New(id.Grant, now), MerchantID: b.merchant.ID, MandateID: "del_1", ClientID: app, ClientName: "A",
		RedirectURI: "https://a.example/cb", Challenge: "challenge", Resource: "https://pay.example/mcp", Scopes: []string{"pay", "balance"},
		CreatedAt: now, ExpiresAt: now.Add(time.Minute),
	}
	require.NoError(t, b.store.AddOAuthGrant(t.Context(), g, store.OAuthSecret{Hash: code, GrantID: g.ID, Kind: store.SecretCode, ExpiresAt: g.ExpiresAt}))
	return g
}

// exchange exchanges a secret of a grant for the refresh token and the access token of a name.
func (b *bench) exchange(t *testing.T, g store.OAuthGrant, used, name string) (store.AccessToken, error) {
	t.Helper()
	now := b.clock.Now()
	token := store.AccessToken{
		Hash: "access " + name, ID: id.New(id.AccessToken, now), MerchantID: g.MerchantID, MandateID: g.MandateID, Hint: "wxyz", Scopes: g.Scopes,
		GrantID: g.ID, Resource: g.Resource, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}
	return token, b.store.ExchangeOAuthSecret(t.Context(), store.OAuthExchange{
		Used: used, Refresh: store.OAuthSecret{Hash: "refresh " + name, GrantID: g.ID, Kind: store.SecretRefresh, ExpiresAt: now.AddDate(0, 0, 30)},
		Token: token, At: now, Until: g.CreatedAt.AddDate(1, 0, 0), MaxTokens: 2,
	})
}

// oauthGrants: a grant is listed once its code is redeemed, with its last use. Its access
// tokens are bounded, and are not among those that the merchant created.
func oauthGrants(t *testing.T, b *bench) {
	ctx, now := t.Context(), b.clock.Now()
	list := func() []store.OAuthGrant {
		all, err := b.store.OAuthGrants(ctx, b.merchant.ID, b.clock.Now(), 10)
		require.NoError(t, err)
		return all
	}
	g := b.grant(t, "code", "https://a.example/app.json")
	require.Empty(t, list())
	secret, of, err := b.store.OAuthSecret(ctx, "code")
	require.NoError(t, err)
	require.Equal(t, store.OAuthSecret{Hash: "code", GrantID: g.ID, Kind: store.SecretCode, ExpiresAt: g.ExpiresAt}, secret)
	require.Equal(t, g, of)
	_, _, err = b.store.OAuthSecret(ctx, "none")
	require.ErrorIs(t, err, ledger.ErrNotFound)

	first, err := b.exchange(t, g, "code", "1")
	require.NoError(t, err)
	g.RedeemedAt, g.UsedAt, g.ExpiresAt = now, now, now.AddDate(1, 0, 0)
	require.Equal(t, []store.OAuthGrant{g}, list())
	got, m, err := b.store.AccessToken(ctx, first.Hash)
	require.NoError(t, err)
	require.Equal(t, first, got)
	require.Equal(t, b.merchant, m)
	mine, err := b.store.AccessTokens(ctx, b.merchant.ID, "", 10)
	require.NoError(t, err)
	require.Empty(t, mine)
	valid, err := b.store.ValidAccessTokens(ctx, b.merchant.ID, now)
	require.NoError(t, err)
	require.Zero(t, valid)

	for i, name := range []string{"2", "3"} {
		b.clock.set(now.Add(time.Duration(i+1) * time.Minute))
		_, err = b.exchange(t, g, "refresh "+string(name[0]-1), name)
		require.NoError(t, err)
	}
	_, _, err = b.store.AccessToken(ctx, first.Hash)
	require.ErrorIs(t, err, ledger.ErrNotFound, "the oldest of three")
	used := now.Add(time.Hour)
	require.NoError(t, b.store.UseAccessToken(ctx, "access 3", used))
	g.UsedAt = used
	require.Equal(t, []store.OAuthGrant{g}, list())
	one, err := b.store.OAuthGrant(ctx, g.ID)
	require.NoError(t, err)
	require.Equal(t, now, one.RedeemedAt)

	b.clock.set(g.ExpiresAt)
	require.Empty(t, list())
	b.clock.set(g.ExpiresAt.Add(ledger.Keep + time.Second))
	b.expire(t)
	_, err = b.store.OAuthGrant(ctx, g.ID)
	require.ErrorIs(t, err, ledger.ErrNotFound)
}

// oauthSecretIsUsedOnce: of many that use a secret at once, one gets tokens.
func oauthSecretIsUsedOnce(t *testing.T, b *bench) {
	g := b.grant(t, "code", "https://a.example/app.json")
	var all sync.WaitGroup
	var succeeded, refused atomic.Int32
	for i := range 8 {
		all.Go(func() {
			_, err := b.exchange(t, g, "code", string(rune('a'+i)))
			if err == nil {
				succeeded.Add(1)
				return
			}
			require.ErrorIs(t, err, store.ErrSecretUsed)
			refused.Add(1)
		})
	}
	all.Wait()
	require.EqualValues(t, 1, succeeded.Load())
	require.EqualValues(t, 7, refused.Load())
	secret, _, err := b.store.OAuthSecret(t.Context(), "code")
	require.NoError(t, err)
	require.Equal(t, b.clock.Now(), secret.UsedAt)
}

// revokedOAuthGrants: a grant is revoked by its merchant alone, with its tokens, and nothing is
// exchanged afterwards or survives that was exchanged at the same time.
func revokedOAuthGrants(t *testing.T, b *bench) {
	ctx, now := t.Context(), b.clock.Now()
	g := b.grant(t, "code", "https://a.example/app.json")
	token, err := b.exchange(t, g, "code", "1")
	require.NoError(t, err)
	revoked, err := b.store.RevokeOAuthGrant(ctx, "mer_other", g.ID, now)
	require.NoError(t, err)
	require.False(t, revoked)
	var all sync.WaitGroup
	all.Go(func() {
		_, err := b.exchange(t, g, "refresh 1", "2")
		if err != nil {
			require.ErrorIs(t, err, ledger.ErrNotFound)
		}
	})
	revoked, err = b.store.RevokeOAuthGrant(ctx, b.merchant.ID, g.ID, now)
	require.NoError(t, err)
	require.True(t, revoked)
	all.Wait()
	again, err := b.store.RevokeOAuthGrant(ctx, b.merchant.ID, g.ID, now)
	require.NoError(t, err)
	require.False(t, again)
	for _, hash := range []string{token.Hash, "access 2"} {
		if got, _, err := b.store.AccessToken(ctx, hash); err == nil {
			require.Equal(t, now, got.RevokedAt, hash)
		}
	}
	_, err = b.exchange(t, g, "refresh 1", "3")
	require.Error(t, err)
	list, err := b.store.OAuthGrants(ctx, b.merchant.ID, now, 10)
	require.NoError(t, err)
	require.Empty(t, list)
}
