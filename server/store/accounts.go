package store

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// Accounts stores merchants and their API keys. The type [ledger.Merchant] belongs to the
// ledger, which checks a payee's limits. Methods that name one row return
// [ledger.ErrNotFound] if it does not exist.
type Accounts interface {
	// Merchant returns a merchant.
	Merchant(ctx context.Context, id string) (ledger.Merchant, error)
	// ValidAPIKey returns the API key with this hash and its merchant. A revoked key does not
	// exist.
	ValidAPIKey(ctx context.Context, hash string) (APIKey, ledger.Merchant, error)
	// MerchantByWallet returns the merchant with this verified wallet. It ignores the case
	// of the address.
	MerchantByWallet(ctx context.Context, payTo string) (ledger.Merchant, error)
	// PutMerchant inserts or replaces a merchant. It returns [ledger.ErrConflict] if
	// another merchant has the wallet.
	PutMerchant(ctx context.Context, m ledger.Merchant) error
	// Merchants returns merchants in the order of their ids, beginning after an id.
	Merchants(ctx context.Context, after string, limit int) ([]ledger.Merchant, error)
	// SetMerchantProfile changes what a merchant decides by itself.
	SetMerchantProfile(ctx context.Context, id string, p MerchantProfile) error
	// SetMerchantEmail changes Email.
	SetMerchantEmail(ctx context.Context, id, email string) error
	// SetMerchantWallet changes PayTo. It returns [ledger.ErrConflict] if another merchant has
	// the wallet.
	SetMerchantWallet(ctx context.Context, id, payTo string) error
	// SetMerchantActive changes Active.
	SetMerchantActive(ctx context.Context, id string, active bool) error
	// SetMerchantLimit changes MaxCharge.
	SetMerchantLimit(ctx context.Context, id string, most ledger.Micros) error

	// APIKeys returns a merchant's keys, including revoked ones, oldest first.
	APIKeys(ctx context.Context, merchantID string) ([]APIKey, error)
	// APIKeysByHash returns at most two keys whose hash begins with prefix.
	APIKeysByHash(ctx context.Context, prefix string) ([]APIKey, error)
	// AddAPIKey inserts a key. It returns [ledger.ErrConflict] if the key exists.
	AddAPIKey(ctx context.Context, k APIKey) error
	// RevokeAPIKey revokes a key and reports whether it was valid before.
	RevokeAPIKey(ctx context.Context, hash string, at time.Time) (bool, error)
}

// MerchantProfile is what a merchant decides by itself; see [ledger.Merchant].
type MerchantProfile struct {
	// Name is shown to people.
	Name string
	// Website is the merchant's URL; may be empty.
	Website string
	// OwnMaxCharge is the merchant's own limit of each charge. Zero: no limit.
	OwnMaxCharge ledger.Micros
}

// APIKey is a key to a merchant's account. Only its hash is stored.
type APIKey struct {
	// Hash is the SHA-256 of the key.
	Hash string
	// MerchantID identifies the merchant.
	MerchantID string
	// Hint is the key's last four characters.
	Hint string
	// Label is the owner's name for the key; may be empty.
	Label string
	// Scopes lists what the key permits: read, charge, refund and admin.
	Scopes []string
	// CreatedAt is the time of creation.
	CreatedAt time.Time
	// RevokedAt is the time of revocation; zero while the key is valid.
	RevokedAt time.Time
}

// ID returns the key's id, a part of its hash. It does not open the account.
func (k APIKey) ID() string { return apiKeyID + k.Hash[:min(len(k.Hash), 16)] }

// apiKeyID begins the id of an API key.
const apiKeyID = "key_"
