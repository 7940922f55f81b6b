package store

import (
	"cmp"
	"context"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// AccessToken lets an agent act for a merchant within its scopes. Only its hash is stored.
type AccessToken struct {
	// Hash is the SHA-256 of the token.
	Hash string
	// ID identifies the token (tok_…). It does not authenticate.
	ID string
	// MerchantID identifies the merchant.
	MerchantID string
	// MandateID is the only mandate that the token may use. Empty: all that the merchant
	// may use.
	MandateID string
	// Name is the merchant's name for the token; may be empty.
	Name string
	// Hint is the token's last four characters.
	Hint string
	// Scopes lists what the token may do.
	Scopes []string
	// CreatedAt is the time of creation, ExpiresAt the time of expiry.
	CreatedAt, ExpiresAt time.Time
	// UsedAt is the time of the last use, to the minute; zero if the token was not used.
	UsedAt time.Time
	// RevokedAt is the time of revocation; zero if the token is not revoked.
	RevokedAt time.Time
	// GrantID identifies the OAuth grant that the token was issued for. Empty: the merchant
	// created it.
	GrantID string
	// Resource is the only audience of the token. Empty: every resource of the service.
	Resource string
}

// Holder identifies who uses the token: all tokens of one OAuth grant have the same holder.
func (t AccessToken) Holder() string { return cmp.Or(t.GrantID, t.ID) }

// Tokens stores access tokens. Expired ones are deleted after [ledger.Keep].
type Tokens interface {
	// AccessToken returns the token with this hash, valid or not, and its merchant. It
	// returns [ledger.ErrNotFound] if there is none.
	AccessToken(ctx context.Context, hash string) (AccessToken, ledger.Merchant, error)
	// AccessTokenOf returns a merchant's token by its id, or [ledger.ErrNotFound].
	AccessTokenOf(ctx context.Context, merchantID, id string) (AccessToken, error)
	// AccessTokens returns the tokens that a merchant created, valid or not, newest first,
	// beginning after the token with the id before; empty: with the newest.
	AccessTokens(ctx context.Context, merchantID, before string, limit int) ([]AccessToken, error)
	// ValidAccessTokens counts the tokens that a merchant created and that are not revoked or
	// expired.
	ValidAccessTokens(ctx context.Context, merchantID string, now time.Time) (int, error)
	// AddAccessToken inserts a token.
	AddAccessToken(ctx context.Context, t AccessToken) error
	// UseAccessToken sets UsedAt, unless it is later.
	UseAccessToken(ctx context.Context, hash string, at time.Time) error
	// RevokeAccessToken revokes a merchant's token and reports whether it was not revoked
	// before.
	RevokeAccessToken(ctx context.Context, merchantID, id string, at time.Time) (bool, error)
}
