package sqlstore

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// AccessToken implements [store.Tokens]. It is part of every request of an agent.
func (s *Store) AccessToken(ctx context.Context, hash string) (store.AccessToken, ledger.Merchant, error) {
	r, err := one(s, func(r db.AccessTokenRow) (db.AccessTokenRow, error) { return r, nil })(s.readQ.AccessToken(s.toTheEnd(ctx), hash))
	if err != nil {
		return store.AccessToken{}, ledger.Merchant{}, err
	}
	t, err := row.AccessToken(r.AccessToken)
	if err != nil {
		return store.AccessToken{}, ledger.Merchant{}, err
	}
	m, err := row.Merchant(r.Merchant)
	return t, m, err
}

// AccessTokenOf implements [store.Tokens].
func (s *Store) AccessTokenOf(ctx context.Context, merchantID, id string) (store.AccessToken, error) {
	return one(s, row.AccessToken)(s.readQ.AccessTokenOf(ctx, db.AccessTokenOfParams{MerchantID: merchantID, ID: id}))
}

// AccessTokens implements [store.Tokens].
func (s *Store) AccessTokens(ctx context.Context, merchantID, before string, limit int) ([]store.AccessToken, error) {
	return many(s, row.AccessToken)(s.readQ.AccessTokensOf(ctx, db.AccessTokensOfParams{
		MerchantID: merchantID, Before: cmp.Or(before, afterAll), Most: int64(limit),
	}))
}

// ValidAccessTokens implements [store.Tokens].
func (s *Store) ValidAccessTokens(ctx context.Context, merchantID string, now time.Time) (int, error) {
	return one(s, func(n int64) (int, error) { return int(n), nil })(s.readQ.ValidAccessTokens(ctx, db.ValidAccessTokensParams{
		MerchantID: merchantID, NowMs: row.Millis(now),
	}))
}

// AddAccessToken implements [store.Tokens].
func (s *Store) AddAccessToken(ctx context.Context, t store.AccessToken) error {
	return put(ctx, s, "add access token", s.writeQ.AddAccessToken, addAccessToken(t))
}

func addAccessToken(t store.AccessToken) db.AddAccessTokenParams {
	return db.AddAccessTokenParams{
		Hash: t.Hash, ID: t.ID, MerchantID: t.MerchantID, MandateID: t.MandateID, Name: t.Name, Hint: t.Hint,
		Scopes: strings.Join(t.Scopes, " "), CreatedMs: row.Millis(t.CreatedAt), ExpiresMs: row.Millis(t.ExpiresAt),
		GrantID: t.GrantID, Resource: t.Resource,
	}
}

// UseAccessToken implements [store.Tokens].
func (s *Store) UseAccessToken(ctx context.Context, hash string, at time.Time) error {
	_, err := change(ctx, s, "use access token", s.writeQ.UseAccessToken, db.UseAccessTokenParams{UsedMs: row.Millis(at), Hash: hash})
	return err
}

// RevokeAccessToken implements [store.Tokens].
func (s *Store) RevokeAccessToken(ctx context.Context, merchantID, id string, at time.Time) (bool, error) {
	n, err := change(ctx, s, "revoke access token", s.writeQ.RevokeAccessToken, db.RevokeAccessTokenParams{
		MerchantID: merchantID, ID: id, RevokedMs: row.Millis(at),
	})
	return n == 1, err
}
