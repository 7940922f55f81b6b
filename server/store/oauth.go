package store

import (
	"context"
	"errors"
	"time"
)

// OAuthClient is an app that registered itself.
type OAuthClient struct {
	// ID is the client_id (app_…).
	ID string
	// Name is what the app calls itself.
	Name string
	// RedirectURIs are the addresses that codes may be sent to.
	RedirectURIs []string
	// Network identifies the network that registered the app.
	Network string
	// CreatedAt is the time of the registration, and ExpiresAt its end.
	CreatedAt, ExpiresAt time.Time
}

// OAuthGrant lets an app act for a merchant. It is the family of the tokens that were issued
// for one consent.
type OAuthGrant struct {
	// ID identifies the grant (grt_…), and MerchantID who gave it.
	ID, MerchantID string
	// MandateID is the only mandate that the app may use. Empty: all that the merchant may use.
	MandateID string
	// ClientID and ClientName are those of the app.
	ClientID, ClientName string
	// RedirectURI is the address that the code was sent to, and Challenge that of its PKCE.
	RedirectURI, Challenge string
	// Resource is the audience of the tokens.
	Resource string
	// Scopes lists what the app may do.
	Scopes []string
	// ExpiresAt is the end of the grant; that of the code until the code is redeemed.
	CreatedAt, ExpiresAt time.Time
	// RedeemedAt, UsedAt and RevokedAt are zero if it did not happen.
	RedeemedAt, UsedAt, RevokedAt time.Time
}

// SecretKind is the kind of an [OAuthSecret].
type SecretKind string

// The kinds.
const (
	SecretCode    SecretKind = "code"
	SecretRefresh SecretKind = "refresh"
)

// OAuthSecret is a code or a refresh token. It is used once.
type OAuthSecret struct {
	// Hash is the SHA-256 of the secret.
	Hash string
	// GrantID identifies the grant.
	GrantID string
	// Kind is the kind of the secret.
	Kind SecretKind
	// ExpiresAt is the end of validity.
	ExpiresAt time.Time
	// UsedAt is the time of the use; zero if it was not used.
	UsedAt time.Time
}

// OAuthExchange is what a code or a refresh token is exchanged for.
type OAuthExchange struct {
	// Used is the hash of the secret.
	Used string
	// Refresh is the next secret of the grant.
	Refresh OAuthSecret
	// Token is the next access token of the grant.
	Token AccessToken
	// At is the time of the exchange, and Until the end of the grant.
	At, Until time.Time
	// MaxTokens limits the access tokens of the grant. The oldest are deleted.
	MaxTokens int
}

// ErrSecretUsed reports a code or a refresh token that was used before.
var ErrSecretUsed = errors.New("store: the code or refresh token was used before")

// OAuth stores apps and what merchants granted them. Rows are deleted [ledger.Keep] after
// their expiry.
type OAuth interface {
	// AddOAuthClient inserts an app, and reports whether it did: a network registers no more
	// than most since the time given.
	AddOAuthClient(ctx context.Context, c OAuthClient, since time.Time, most int) (done bool, err error)
	// OAuthClient returns an app, expired or not. It returns [ledger.ErrNotFound] if there is
	// none.
	OAuthClient(ctx context.Context, id string) (OAuthClient, error)
	// AddOAuthGrant inserts a grant with its code.
	AddOAuthGrant(ctx context.Context, g OAuthGrant, code OAuthSecret) error
	// OAuthGrant returns a grant, valid or not, or [ledger.ErrNotFound].
	OAuthGrant(ctx context.Context, id string) (OAuthGrant, error)
	// OAuthSecret returns a secret and its grant, valid or not, or [ledger.ErrNotFound].
	OAuthSecret(ctx context.Context, hash string) (OAuthSecret, OAuthGrant, error)
	// ExchangeOAuthSecret uses a secret of a grant that is not revoked, and keeps the app's
	// registration as long as the grant. Of several callers one succeeds; the others get
	// [ErrSecretUsed]. It returns [ledger.ErrNotFound] if the grant is revoked.
	ExchangeOAuthSecret(ctx context.Context, x OAuthExchange) error
	// OAuthGrants returns a merchant's grants that are redeemed and valid, newest first.
	OAuthGrants(ctx context.Context, merchantID string, now time.Time, limit int) ([]OAuthGrant, error)
	// RevokeOAuthGrant revokes a merchant's grant with its access tokens, and reports whether
	// the grant was not revoked before.
	RevokeOAuthGrant(ctx context.Context, merchantID, id string, at time.Time) (bool, error)
}
