// Package account manages merchants, their API keys and access tokens, and authenticates
// requests.
package account

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// unauthorized returns the error for wrong credentials. The message never reveals which
// part is wrong, except if the key belongs to the other mode.
func unauthorized(message string) error {
	return &client.Error{Status: http.StatusUnauthorized, Code: client.CodeUnauthorized, Message: message}
}

// Store is the part of store.Accounts and store.Tokens that is used here.
type Store interface {
	store.Tokens
	ValidAPIKey(ctx context.Context, hash string) (store.APIKey, ledger.Merchant, error)
	MerchantByWallet(ctx context.Context, payTo string) (ledger.Merchant, error)
	PutMerchant(ctx context.Context, m ledger.Merchant) error
	APIKeysByHash(ctx context.Context, prefix string) ([]store.APIKey, error)
	AddAPIKey(ctx context.Context, k store.APIKey) error
	RevokeAPIKey(ctx context.Context, hash string, at time.Time) (bool, error)
}

// Config configures [Accounts]. Every field is required.
type Config struct {
	Store  Store
	Clock  func() time.Time
	Logger *slog.Logger
	// Live selects live keys; otherwise keys are for the sandbox.
	Live bool
}

// Accounts manages merchants. It is safe for concurrent use.
type Accounts struct{ Config }

// New returns Accounts.
func New(cfg Config) *Accounts { return &Accounts{cfg} }

// Prefix returns the prefix of the API keys of this mode.
func (a *Accounts) Prefix() string {
	if a.Live {
		return id.LiveAPIKey
	}
	return id.TestAPIKey
}

// Authenticate returns the API key and the merchant whose credentials these are. It returns a
// [*client.Error] of the kind client.ErrUnauthorized if they are wrong.
func (a *Accounts) Authenticate(ctx context.Context, merchantID, apiKey string) (store.APIKey, ledger.Merchant, error) {
	wrong := unauthorized("X-Service-Merchant-Id or X-Service-Api-Key is missing, wrong or revoked.")
	switch {
	case merchantID == "" || apiKey == "":
		return store.APIKey{}, ledger.Merchant{}, wrong
	case a.Live && strings.HasPrefix(apiKey, id.TestAPIKey):
		return store.APIKey{}, ledger.Merchant{}, unauthorized("This is a sandbox API key; this is the live service.")
	case !a.Live && strings.HasPrefix(apiKey, id.LiveAPIKey):
		return store.APIKey{}, ledger.Merchant{}, unauthorized("This is a live API key; this is the sandbox.")
	}
	key, m, err := a.Store.ValidAPIKey(ctx, id.Hash(apiKey))
	if errors.Is(err, ledger.ErrNotFound) {
		return store.APIKey{}, ledger.Merchant{}, wrong
	}
	if err != nil {
		return store.APIKey{}, ledger.Merchant{}, fmt.Errorf("read API key: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(m.ID), []byte(merchantID)) != 1 {
		return store.APIKey{}, ledger.Merchant{}, wrong
	}
	return key, m, nil
}

// NewMerchant describes a new account.
type NewMerchant struct {
	ID      string // empty: a new one
	Name    string
	Website string
	Email   string
	PayTo   string // a verified wallet, or empty
	// MaxCharge limits each charge of the merchant. Zero: no limit.
	MaxCharge ledger.Micros
	Inactive  bool
}

// Credentials are a merchant and its API key, which cannot be read again.
type Credentials struct {
	Merchant ledger.Merchant
	APIKey   string
}

// ErrWalletTaken reports that another merchant has the wallet.
var ErrWalletTaken = errors.New("another merchant has this wallet")

// Create creates a merchant with its first API key.
func (a *Accounts) Create(ctx context.Context, n NewMerchant) (Credentials, error) {
	m, err := a.Open(ctx, n)
	if err != nil {
		return Credentials{}, err
	}
	key, _, err := a.IssueKey(ctx, m.ID, "")
	return Credentials{Merchant: m, APIKey: key}, err
}

// Open creates a merchant without an API key.
func (a *Accounts) Open(ctx context.Context, n NewMerchant) (ledger.Merchant, error) {
	now := a.Clock()
	m := ledger.Merchant{
		ID: cmp.Or(n.ID, id.New(id.Merchant, now)), Name: n.Name, Website: n.Website, Email: n.Email, PayTo: n.PayTo,
		MaxCharge: n.MaxCharge, Active: !n.Inactive, CreatedAt: now,
	}
	if err := m.Validate(); err != nil {
		return ledger.Merchant{}, err
	}
	if err := a.Store.PutMerchant(ctx, m); err != nil {
		if errors.Is(err, ledger.ErrConflict) { // ids are random, so the wallet conflicts
			err = ErrWalletTaken
		}
		return ledger.Merchant{}, fmt.Errorf("create merchant: %w", err)
	}
	return m, nil
}

// IssueKey creates another API key for a merchant, with all scopes. The key cannot be read again.
func (a *Accounts) IssueKey(ctx context.Context, merchantID, label string) (string, store.APIKey, error) {
	all, err := KeyScopes(nil)
	if err != nil {
		return "", store.APIKey{}, err
	}
	plain, key := a.NewKey(merchantID, label, all)
	if err := a.AddKey(ctx, key); err != nil {
		return "", store.APIKey{}, err
	}
	return plain, key, nil
}

// NewKey returns a new API key for a merchant, which is not valid before [Accounts.AddKey].
func (a *Accounts) NewKey(merchantID, label string, scopes []string) (plain string, key store.APIKey) {
	plain = id.NewCapability(a.Prefix())
	return plain, store.APIKey{
		Hash: id.Hash(plain), MerchantID: merchantID, Hint: plain[len(plain)-4:], Label: label, Scopes: scopes, CreatedAt: a.Clock(),
	}
}

// KeyScopes returns scopes of API keys as they are stored: each once, in their usual order; all
// if there are none.
func KeyScopes(scopes []client.Scope) ([]string, error) {
	for _, s := range scopes {
		if !slices.Contains(client.KeyScopes(), s) {
			return nil, fmt.Errorf("%q is not one of read, charge, refund and admin", s)
		}
	}
	var names []string
	for _, s := range client.KeyScopes() {
		if len(scopes) == 0 || slices.Contains(scopes, s) {
			names = append(names, string(s))
		}
	}
	return names, nil
}

// AddKey stores a key that NewKey returned.
func (a *Accounts) AddKey(ctx context.Context, key store.APIKey) error {
	if err := a.Store.AddAPIKey(ctx, key); err != nil {
		return fmt.Errorf("create API key: %w", err)
	}
	return nil
}

// Errors of [Accounts.RevokeKey] besides the store's.
var (
	// ErrKeyAmbiguous reports that several ids begin with the given text.
	ErrKeyAmbiguous = errors.New("several API keys have an id that begins so")
	// ErrKeyRevoked reports that the key was revoked before.
	ErrKeyRevoked = errors.New("the API key is revoked already")
)

// RevokeKey revokes the API key whose id is, or begins with, keyID. It returns
// ledger.ErrNotFound, [ErrKeyAmbiguous] or [ErrKeyRevoked].
func (a *Accounts) RevokeKey(ctx context.Context, keyID string) (store.APIKey, error) {
	key, err := a.Key(ctx, keyID)
	if err != nil {
		return store.APIKey{}, err
	}
	now := a.Clock()
	revoked, err := a.Store.RevokeAPIKey(ctx, key.Hash, now)
	if err == nil && !revoked {
		err = ErrKeyRevoked
	}
	if err != nil {
		return store.APIKey{}, fmt.Errorf("revoke API key %s: %w", key.ID(), err)
	}
	key.RevokedAt = now
	return key, nil
}

// shortestKeyID is the shortest accepted beginning of a key's id.
const shortestKeyID = len("key_") + 6

// Key returns the API key whose id is, or begins with, keyID. It returns the errors of
// [Accounts.RevokeKey].
func (a *Accounts) Key(ctx context.Context, keyID string) (store.APIKey, error) {
	prefix, isID := strings.CutPrefix(keyID, "key_")
	if !isID || len(keyID) < shortestKeyID || strings.Trim(prefix, "0123456789abcdef") != "" {
		return store.APIKey{}, fmt.Errorf("API key %q: %w", redacted(keyID), ledger.ErrNotFound)
	}
	keys, err := a.Store.APIKeysByHash(ctx, prefix)
	switch {
	case err != nil:
		return store.APIKey{}, fmt.Errorf("find API key: %w", err)
	case len(keys) == 0:
		return store.APIKey{}, fmt.Errorf("API key %s: %w", keyID, ledger.ErrNotFound)
	case len(keys) > 1:
		return store.APIKey{}, fmt.Errorf("API key %s: %w", keyID, ErrKeyAmbiguous)
	}
	return keys[0], nil
}

// redacted returns keyID for an error message, unless it is an API key itself.
func redacted(keyID string) string {
	if strings.HasPrefix(keyID, id.TestAPIKey) || strings.HasPrefix(keyID, id.LiveAPIKey) {
		return "sk_…"
	}
	return keyID
}
