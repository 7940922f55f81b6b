// Package account keeps merchants and their API keys, and authenticates callers.
package account

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// unauthorized is what every wrong credential answers; it never tells which part
// was wrong, only when the key belongs to the other mode.
func unauthorized(message string) error {
	return &client.Error{Status: http.StatusUnauthorized, Code: client.CodeUnauthorized, Message: message}
}

// Config configures [Accounts]. Every field is required.
type Config struct {
	Store ledger.Accounts
	Clock ledger.Clock
	// Live tells which kind of keys is made and taken.
	Live bool
}

// Accounts keeps merchants.
type Accounts struct{ Config }

// New returns accounts.
func New(cfg Config) *Accounts { return &Accounts{cfg} }

// Prefix is what the API keys of this mode begin with.
func (a *Accounts) Prefix() string {
	if a.Live {
		return id.LiveAPIKey
	}
	return id.TestAPIKey
}

// Authenticate finds the merchant that the credentials belong to. It returns a
// [*client.Error] of the kind client.ErrUnauthorized.
func (a *Accounts) Authenticate(ctx context.Context, merchantID, apiKey string) (ledger.Merchant, error) {
	wrong := unauthorized("X-Service-Merchant-Id or X-Service-Api-Key is missing, wrong or revoked.")
	switch {
	case merchantID == "" || apiKey == "":
		return ledger.Merchant{}, wrong
	case a.Live && strings.HasPrefix(apiKey, id.TestAPIKey):
		return ledger.Merchant{}, unauthorized("This is a sandbox API key; this is the live service.")
	case !a.Live && strings.HasPrefix(apiKey, id.LiveAPIKey):
		return ledger.Merchant{}, unauthorized("This is a live API key; this is the sandbox.")
	}
	m, err := a.Store.MerchantByKey(ctx, id.Hash(apiKey))
	if errors.Is(err, ledger.ErrNotFound) {
		return ledger.Merchant{}, wrong
	}
	if err != nil {
		return ledger.Merchant{}, fmt.Errorf("read merchant of an API key: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(m.ID), []byte(merchantID)) != 1 {
		return ledger.Merchant{}, wrong
	}
	return m, nil
}

// NewMerchant is what a new account begins with.
type NewMerchant struct {
	Name    string
	Website string
	Email   string
	PayTo   string // a proven wallet, or empty
	// MaxCharge is the account's own limit for one charge. Zero: none.
	MaxCharge ledger.Micros
	Inactive  bool
}

// Credentials open an account. The key is shown once.
type Credentials struct {
	Merchant ledger.Merchant
	APIKey   string
}

// ErrWalletTaken: another merchant has the wallet.
var ErrWalletTaken = errors.New("another merchant has this wallet")

// Create makes a merchant with its first API key.
func (a *Accounts) Create(ctx context.Context, n NewMerchant) (Credentials, error) {
	now := a.Clock.Now()
	m := ledger.Merchant{
		ID: id.New(id.Merchant, now), Name: n.Name, Website: n.Website, Email: n.Email, PayTo: n.PayTo,
		MaxCharge: n.MaxCharge, Active: !n.Inactive, CreatedAt: now,
	}
	if err := m.Validate(); err != nil {
		return Credentials{}, err
	}
	if err := a.Store.PutMerchant(ctx, m); err != nil {
		if errors.Is(err, ledger.ErrConflict) { // ids are random, so it is the wallet
			err = ErrWalletTaken
		}
		return Credentials{}, fmt.Errorf("create merchant: %w", err)
	}
	key, _, err := a.IssueKey(ctx, m.ID, "")
	return Credentials{Merchant: m, APIKey: key}, err
}

// IssueKey makes one more API key for a merchant. The key cannot be read again.
func (a *Accounts) IssueKey(ctx context.Context, merchantID, label string) (string, ledger.APIKey, error) {
	key := id.NewCapability(a.Prefix())
	stored := ledger.APIKey{Hash: id.Hash(key), MerchantID: merchantID, Hint: key[len(key)-4:], Label: label, CreatedAt: a.Clock.Now()}
	if err := a.Store.AddAPIKey(ctx, stored); err != nil {
		return "", ledger.APIKey{}, fmt.Errorf("create API key: %w", err)
	}
	return key, stored, nil
}

// Errors of [Accounts.RevokeKey] besides the store's.
var (
	// ErrKeyAmbiguous: several keys have an id that begins so.
	ErrKeyAmbiguous = errors.New("several API keys have an id that begins so")
	// ErrKeyRevoked: the key was revoked before.
	ErrKeyRevoked = errors.New("the API key is revoked already")
)

// RevokeKey ends an API key at once, on all instances. The key is named by its id or
// the beginning of it: the key itself is not needed. It returns ledger.ErrNotFound if
// there is none, [ErrKeyAmbiguous] or [ErrKeyRevoked].
func (a *Accounts) RevokeKey(ctx context.Context, keyID string) (ledger.APIKey, error) {
	key, err := a.Key(ctx, keyID)
	if err != nil {
		return ledger.APIKey{}, err
	}
	now := a.Clock.Now()
	revoked, err := a.Store.RevokeAPIKey(ctx, key.Hash, now)
	if err == nil && !revoked {
		err = ErrKeyRevoked
	}
	if err != nil {
		return ledger.APIKey{}, fmt.Errorf("revoke API key %s: %w", key.ID(), err)
	}
	key.RevokedAt = now
	return key, nil
}

// shortestKeyID is how much of a key's id must be given.
const shortestKeyID = len("key_") + 6

// Key finds a key by its id or the beginning of it. Errors as of [Accounts.RevokeKey].
func (a *Accounts) Key(ctx context.Context, keyID string) (ledger.APIKey, error) {
	prefix, isID := strings.CutPrefix(keyID, "key_")
	if !isID || len(keyID) < shortestKeyID || strings.Trim(prefix, "0123456789abcdef") != "" {
		return ledger.APIKey{}, fmt.Errorf("API key %q: %w", redacted(keyID), ledger.ErrNotFound)
	}
	keys, err := a.Store.APIKeysByHash(ctx, prefix)
	switch {
	case err != nil:
		return ledger.APIKey{}, fmt.Errorf("find API key: %w", err)
	case len(keys) == 0:
		return ledger.APIKey{}, fmt.Errorf("API key %s: %w", keyID, ledger.ErrNotFound)
	case len(keys) > 1:
		return ledger.APIKey{}, fmt.Errorf("API key %s: %w", keyID, ErrKeyAmbiguous)
	}
	return keys[0], nil
}

// redacted is a text for an error message, unless it is a key itself.
func redacted(keyID string) string {
	if strings.HasPrefix(keyID, id.TestAPIKey) || strings.HasPrefix(keyID, id.LiveAPIKey) {
		return "sk_…"
	}
	return keyID
}
