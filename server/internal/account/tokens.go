package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// MaxTokens limits the valid access tokens of a merchant.
	MaxTokens = 1000
	// usedEvery is the precision of a token's last use: a token is not written more often.
	usedEvery = time.Minute
)

// IssueToken creates an access token with the merchant, mandate, name and scopes of t, which
// the caller has validated. The token cannot be read again. It returns a [*client.Error] of
// the kind client.ErrValidation if the merchant has [MaxTokens] valid tokens.
func (a *Accounts) IssueToken(ctx context.Context, t store.AccessToken, life time.Duration) (plain string, issued store.AccessToken, err error) {
	now := a.Clock()
	valid, err := a.Store.ValidAccessTokens(ctx, t.MerchantID, now)
	if err != nil {
		return "", t, fmt.Errorf("count access tokens: %w", err)
	}
	if valid >= MaxTokens {
		return "", t, &client.Error{
			Status: http.StatusBadRequest, Code: client.CodeValidation,
			Message: fmt.Sprintf("An account has at most %d valid access tokens. Revoke one first.", MaxTokens),
		}
	}
	plain = id.NewCapability(id.Token)
	t.Hash, t.ID, t.Hint = id.Hash(plain), id.New(id.AccessToken, now), plain[len(plain)-4:]
	t.CreatedAt, t.ExpiresAt = now, now.Add(life)
	if err := a.Store.AddAccessToken(ctx, t); err != nil {
		return "", t, fmt.Errorf("create access token: %w", err)
	}
	return plain, t, nil
}

// AuthenticateToken returns an access token that is valid for a resource, and its merchant, and
// records its use. A token that expired less than grace ago is still valid. It returns a
// [*client.Error] of the kind client.ErrUnauthorized for any other token.
func (a *Accounts) AuthenticateToken(ctx context.Context, plain, resource string, grace time.Duration) (store.AccessToken, ledger.Merchant, error) {
	t, m, err := a.Store.AccessToken(ctx, id.Hash(plain))
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return t, m, fmt.Errorf("read access token: %w", err)
	}
	now := a.Clock()
	if err != nil || !t.RevokedAt.IsZero() || !now.Before(t.ExpiresAt.Add(grace)) || (t.Resource != "" && t.Resource != resource) {
		return store.AccessToken{}, ledger.Merchant{}, unauthorized("The access token is wrong, expired, revoked, or for another resource.")
	}
	if used := now.Truncate(usedEvery); used.After(t.UsedAt) {
		if err := a.Store.UseAccessToken(ctx, t.Hash, used); err != nil { // the time is of less value than the request
			a.Logger.WarnContext(ctx, "last use of an access token not recorded", slog.String("tokenId", t.ID), slog.String("error", err.Error()))
		}
	}
	return t, m, nil
}

// Tokens returns a merchant's access tokens, newest first, beginning after the token with the
// id before.
func (a *Accounts) Tokens(ctx context.Context, merchantID, before string, limit int) ([]store.AccessToken, error) {
	list, err := a.Store.AccessTokens(ctx, merchantID, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list access tokens: %w", err)
	}
	return list, nil
}

// RevokeToken revokes a merchant's access token at once, and reports whether it was not
// revoked before. It returns ledger.ErrNotFound if the merchant has none with this id.
func (a *Accounts) RevokeToken(ctx context.Context, merchantID, tokenID string) (store.AccessToken, bool, error) {
	revoked, err := a.Store.RevokeAccessToken(ctx, merchantID, tokenID, a.Clock())
	if err != nil {
		return store.AccessToken{}, false, fmt.Errorf("revoke access token: %w", err)
	}
	t, err := a.Store.AccessTokenOf(ctx, merchantID, tokenID)
	return t, revoked, err
}
