// Package account keeps merchants and their API keys, and tells who calls.
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
}

// Credentials open an account. The key is shown once.
type Credentials struct {
	Merchant ledger.Merchant
	APIKey   string
}

// Create makes an active merchant with its first API key.
func (a *Accounts) Create(ctx context.Context, n NewMerchant) (Credentials, error) {
	now := a.Clock.Now()
	m := ledger.Merchant{
		ID: id.New(id.Merchant, now), Name: n.Name, Website: n.Website, Email: n.Email, PayTo: n.PayTo,
		Active: true, CreatedAt: now,
	}
	if err := a.Store.PutMerchant(ctx, m); err != nil {
		return Credentials{}, fmt.Errorf("create merchant: %w", err)
	}
	key, err := a.IssueKey(ctx, m.ID)
	return Credentials{Merchant: m, APIKey: key}, err
}

// IssueKey makes one more API key for a merchant.
func (a *Accounts) IssueKey(ctx context.Context, merchantID string) (string, error) {
	key := id.NewCapability(a.Prefix())
	err := a.Store.PutAPIKey(ctx, ledger.APIKey{
		Hash: id.Hash(key), MerchantID: merchantID, Hint: key[len(key)-4:], CreatedAt: a.Clock.Now(),
	})
	if err != nil {
		return "", fmt.Errorf("create API key: %w", err)
	}
	return key, nil
}

// RevokeKey ends an API key at once. It returns ledger.ErrNotFound where there is
// no such key.
func (a *Accounts) RevokeKey(ctx context.Context, apiKey string) error {
	key, err := a.Store.APIKey(ctx, id.Hash(apiKey))
	if err == nil && key.RevokedAt.IsZero() {
		key.RevokedAt = a.Clock.Now()
		err = a.Store.PutAPIKey(ctx, key)
	}
	if err != nil {
		return fmt.Errorf("revoke API key: %w", err)
	}
	return nil
}
