// Package keys keeps the service's own keys in the store, sealed by the vault:
// those that sign mandates, and secrets for its own use. Several instances on one
// store find the same keys.
package keys

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/vault"
)

const (
	issuerPrefix = "issuer/"
	secretPrefix = "secret/"
)

// Config configures [Open]. Every field is required.
type Config struct {
	Store ledger.Accounts
	Vault *vault.Vault
	Clock ledger.Clock
}

// Keys holds the issuer's keys: the public ones in Set, the one that signs in
// memory.
type Keys struct {
	Config

	// Set is published, and verifies what this service signed.
	Set *mandate.KeySet

	mu     sync.RWMutex
	signer *ecdsa.PrivateKey
}

// Open reads the issuer's keys, and makes the first one where there is none.
func Open(ctx context.Context, cfg Config) (*Keys, error) {
	k := &Keys{Config: cfg}
	err := k.load(ctx)
	if err == nil && k.signer == nil {
		if err = k.add(ctx, 1, mandate.KeyCurrent); err == nil {
			err = k.load(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open signing keys: %w", err)
	}
	return k, nil
}

// load reads all keys from the store and opens the one that signs.
func (k *Keys) load(ctx context.Context) error {
	stored, err := k.Store.SealedKeys(ctx, issuerPrefix)
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	var public []mandate.Key
	var signer *ecdsa.PrivateKey
	for _, s := range stored {
		one := mandate.Key{State: mandate.KeyState(s.State)}
		if err := one.UnmarshalJSON(s.Public); err != nil {
			return fmt.Errorf("read public key %s: %w", s.Name, err)
		}
		public = append(public, one)
		if one.State == mandate.KeyCurrent {
			if signer, err = k.private(ctx, s); err != nil {
				return err
			}
		}
	}
	set, err := mandate.NewKeySet(public...)
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Set, k.signer = set, signer
	return nil
}

func label(name string) vault.Label { return vault.Label{Purpose: "service-key", Owner: name} }

func (k *Keys) private(ctx context.Context, s ledger.SealedKey) (*ecdsa.PrivateKey, error) {
	der, err := k.Vault.Open(ctx, label(s.Name), s.Sealed)
	if err != nil {
		return nil, err
	}
	defer clear(der)
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("parse key %s: %w", s.Name, err)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("key %s is no ECDSA key", s.Name)
	}
	return key, nil
}

// add makes the nth key. Where another instance made it first, that one counts.
func (k *Keys) add(ctx context.Context, n int, state mandate.KeyState) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	defer clear(der)
	public, err := mandate.NewPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	text, err := public.MarshalJSON()
	if err != nil {
		return err
	}
	return k.store(ctx, fmt.Sprintf("%s%06d", issuerPrefix, n), string(state), text, der)
}

func (k *Keys) store(ctx context.Context, name, state string, public, secret []byte) error {
	sealed, err := k.Vault.Seal(ctx, label(name), secret)
	if err != nil {
		return err
	}
	now := k.Clock.Now()
	err = k.Store.AddSealedKey(ctx, ledger.SealedKey{
		Name: name, State: state, Public: public, Sealed: sealed, CreatedAt: now, ChangedAt: now,
	})
	if err != nil && !errors.Is(err, ledger.ErrConflict) {
		return fmt.Errorf("keep key %s: %w", name, err)
	}
	return nil
}

// Signer gives the key that signs mandates now. It is a mandate.SignerFunc.
func (k *Keys) Signer(context.Context) (crypto.Signer, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.signer == nil {
		return nil, errors.New("no signing key is current")
	}
	return k.signer, nil
}

// Secret returns the 32 bytes of a name, made at the first call.
func (k *Keys) Secret(ctx context.Context, name string) ([]byte, error) {
	name = secretPrefix + name
	for range 2 {
		found, err := k.Store.SealedKeys(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read secret %s: %w", name, err)
		}
		for _, s := range found {
			if s.Name == name {
				return k.Vault.Open(ctx, label(name), s.Sealed)
			}
		}
		var fresh [32]byte
		_, _ = rand.Read(fresh[:]) // never fails
		if err := k.store(ctx, name, "current", nil, fresh[:]); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("secret %s: %w", name, ledger.ErrNotFound)
}
