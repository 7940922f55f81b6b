package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// AddOAuthClient implements [store.OAuth]. No redirect URI holds a line break.
func (s *Store) AddOAuthClient(ctx context.Context, c store.OAuthClient, since time.Time, most int) (done bool, err error) {
	err = put(ctx, s, "add OAuth client", changed(&done, s.writeQ.AddOAuthClient), db.AddOAuthClientParams{
		ID: c.ID, Name: c.Name, RedirectUris: strings.Join(c.RedirectURIs, "\n"), Network: c.Network,
		CreatedMs: row.Millis(c.CreatedAt), ExpiresMs: row.Millis(c.ExpiresAt), SinceMs: row.Millis(since), Most: int64(most),
	})
	return done, err
}

// OAuthClient implements [store.OAuth].
func (s *Store) OAuthClient(ctx context.Context, id string) (store.OAuthClient, error) {
	return one(s, row.OAuthClient)(s.readQ.OAuthClient(ctx, id))
}

// AddOAuthGrant implements [store.OAuth].
func (s *Store) AddOAuthGrant(ctx context.Context, g store.OAuthGrant, code store.OAuthSecret) error {
	return s.fail("add OAuth grant", s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		q := s.writeQ.WithTx(tx)
		err := q.AddOAuthGrant(ctx, db.AddOAuthGrantParams{
			ID: g.ID, MerchantID: g.MerchantID, MandateID: g.MandateID, ClientID: g.ClientID, ClientName: g.ClientName,
			RedirectUri: g.RedirectURI, Challenge: g.Challenge, Resource: g.Resource, Scopes: strings.Join(g.Scopes, " "),
			CreatedMs: row.Millis(g.CreatedAt), ExpiresMs: row.Millis(g.ExpiresAt),
		})
		if err != nil {
			return err
		}
		return q.AddOAuthSecret(ctx, addSecret(code))
	}))
}

func addSecret(x store.OAuthSecret) db.AddOAuthSecretParams {
	return db.AddOAuthSecretParams{Hash: x.Hash, GrantID: x.GrantID, Kind: string(x.Kind), ExpiresMs: row.Millis(x.ExpiresAt)}
}

// OAuthGrant implements [store.OAuth].
func (s *Store) OAuthGrant(ctx context.Context, id string) (store.OAuthGrant, error) {
	return one(s, row.OAuthGrant)(s.readQ.OAuthGrant(ctx, id))
}

// OAuthSecret implements [store.OAuth].
func (s *Store) OAuthSecret(ctx context.Context, hash string) (store.OAuthSecret, store.OAuthGrant, error) {
	r, err := one(s, func(r db.OAuthSecretRow) (db.OAuthSecretRow, error) { return r, nil })(s.readQ.OAuthSecret(ctx, hash))
	if err != nil {
		return store.OAuthSecret{}, store.OAuthGrant{}, err
	}
	g, err := row.OAuthGrant(r.OauthGrant)
	return row.OAuthSecret(r.OauthSecret), g, err
}

// ExchangeOAuthSecret implements [store.OAuth].
func (s *Store) ExchangeOAuthSecret(ctx context.Context, x store.OAuthExchange) error {
	var refused error
	err := s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var err error
		refused, err = exchange(ctx, s.writeQ.WithTx(tx), x)
		return errors.Join(refused, err)
	})
	if refused != nil {
		return refused
	}
	return s.fail("exchange OAuth secret", err)
}

// exchange returns in refused why nothing is exchanged.
func exchange(ctx context.Context, q *db.Queries, x store.OAuthExchange) (refused, err error) {
	n, err := q.UseOAuthSecret(ctx, db.UseOAuthSecretParams{Hash: x.Used, UsedMs: row.Millis(x.At)})
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return store.ErrSecretUsed, nil
	}
	n, err = q.UseOAuthGrant(ctx, db.UseOAuthGrantParams{ID: x.Refresh.GrantID, NowMs: row.Millis(x.At), ExpiresMs: row.Millis(x.Until)})
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return ledger.ErrNotFound, nil
	}
	if err := q.KeepOAuthClient(ctx, db.KeepOAuthClientParams{GrantID: x.Refresh.GrantID, ExpiresMs: row.Millis(x.Until)}); err != nil {
		return nil, err
	}
	if err := q.AddOAuthSecret(ctx, addSecret(x.Refresh)); err != nil {
		return nil, err
	}
	if err := q.AddAccessToken(ctx, addAccessToken(x.Token)); err != nil {
		return nil, err
	}
	return nil, q.TrimAccessTokens(ctx, db.TrimAccessTokensParams{GrantID: x.Token.GrantID, Most: int64(x.MaxTokens)})
}

// OAuthGrants implements [store.OAuth].
func (s *Store) OAuthGrants(ctx context.Context, merchantID string, now time.Time, limit int) ([]store.OAuthGrant, error) {
	read := func(r db.OAuthGrantsOfRow) (store.OAuthGrant, error) {
		g, err := row.OAuthGrant(r.OauthGrant)
		if used := row.At(r.TokenUsedMs); r.TokenUsedMs > 0 && used.After(g.UsedAt) {
			g.UsedAt = used
		}
		return g, err
	}
	return many(s, read)(s.readQ.OAuthGrantsOf(ctx, db.OAuthGrantsOfParams{MerchantID: merchantID, NowMs: row.Millis(now), Most: int64(limit)}))
}

// RevokeOAuthGrant implements [store.OAuth].
func (s *Store) RevokeOAuthGrant(ctx context.Context, merchantID, id string, at time.Time) (revoked bool, err error) {
	err = s.inTx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		q := s.writeQ.WithTx(tx)
		n, err := q.RevokeOAuthGrant(ctx, db.RevokeOAuthGrantParams{ID: id, MerchantID: merchantID, NowMs: row.Millis(at)})
		if revoked = n == 1; err != nil || !revoked {
			return err
		}
		return q.RevokeAccessTokensOfGrant(ctx, db.RevokeAccessTokensOfGrantParams{GrantID: id, RevokedMs: row.Millis(at)})
	})
	return revoked && err == nil, s.fail("revoke OAuth grant", err)
}
