package account

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
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

// ErrTooManyTokens reports that the merchant has [MaxTokens] valid access tokens.
var ErrTooManyTokens = errors.New("the merchant has the most access tokens that it can have")

// NewToken describes an access token to issue. The caller has validated it.
type NewToken struct {
	MerchantID string
	MandateID  string // empty: every mandate of the merchant
	Name       string
	Scopes     []client.Scope
	Life       time.Duration
}

// IssueToken creates an access token. The token cannot be read again.
func (a *Accounts) IssueToken(ctx context.Context, n NewToken) (plain string, t store.AccessToken, err error) {
	now := a.Clock()
	valid, err := a.Store.ValidAccessTokens(ctx, n.MerchantID, now)
	if err != nil {
		return "", t, fmt.Errorf("count access tokens: %w", err)
	}
	if valid >= MaxTokens {
		return "", t, ErrTooManyTokens
	}
	plain = id.NewCapability(id.Token)
	t = store.AccessToken{
		Hash: id.Hash(plain), ID: id.New(id.AccessToken, now), MerchantID: n.MerchantID, MandateID: n.MandateID, Name: n.Name,
		Hint: plain[len(plain)-4:], CreatedAt: now, ExpiresAt: now.Add(n.Life),
	}
	for _, s := range client.Scopes() {
		if slices.Contains(n.Scopes, s) {
			t.Scopes = append(t.Scopes, string(s))
		}
	}
	if err := a.Store.AddAccessToken(ctx, t); err != nil {
		return "", t, fmt.Errorf("create access token: %w", err)
	}
	return plain, t, nil
}

// AuthenticateToken returns a valid access token and its merchant, and records its use. It
// returns a [*client.Error] of the kind client.ErrUnauthorized for any other token.
func (a *Accounts) AuthenticateToken(ctx context.Context, plain string) (store.AccessToken, ledger.Merchant, error) {
	t, m, err := a.Store.AccessToken(ctx, id.Hash(plain))
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return t, m, fmt.Errorf("read access token: %w", err)
	}
	now := a.Clock()
	if err != nil || !t.RevokedAt.IsZero() || !now.Before(t.ExpiresAt) {
		return store.AccessToken{}, ledger.Merchant{}, unauthorized("The access token is wrong, expired or revoked.")
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

// InsufficientScope returns the error for a request that a token's scopes do not permit. An
// empty scope means that no access token permits it.
func InsufficientScope(scope client.Scope) error {
	message := "No access token permits this. It needs the merchant's API key."
	if scope != "" {
		message = "The access token lacks the scope " + string(scope) + "."
	}
	return &client.Error{Status: http.StatusForbidden, Code: client.CodeInsufficientScope, Message: message, Scope: scope}
}
