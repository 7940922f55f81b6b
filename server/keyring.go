package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/internal/keys"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Errors of [KeyRing.Rotate].
var (
	// ErrKeyTooYoung: the next key was published less than six minutes ago, so
	// that verifiers may not know it yet.
	ErrKeyTooYoung = keys.ErrTooYoung
	// ErrTooManyKeys: with one more key the set would be longer than verifiers read.
	ErrTooManyKeys = keys.ErrTooMany
)

// KeyRingConfig configures a [KeyRing].
type KeyRingConfig struct {
	// Store is the service's. Required; the ring does not close it.
	Store ledger.Accounts
	// Wrapper is the service's. Default: the sandbox's fixed key.
	Wrapper vault.Wrapper
	// Clock tells the time. Default: the system's.
	Clock Clock
}

// KeyRing looks after the keys that sign a service's mandates, from within its
// process or from another one on the same store: a running service takes changes
// up within two seconds, and at once where it meets a key that it does not know.
type KeyRing struct{ keys *keys.Keys }

// SigningKey is one key of a [KeyRing]. Times are zero where the key has not come
// into that state.
type SigningKey struct {
	// ID is its thumbprint, the kid of what it signs.
	ID        string           `json:"id"`
	State     mandate.KeyState `json:"state"`
	Published bool             `json:"published"`
	CreatedAt time.Time        `json:"createdAt"`
	CurrentAt time.Time        `json:"currentAt,omitzero"`
	RetiredAt time.Time        `json:"retiredAt,omitzero"`
	RevokedAt time.Time        `json:"revokedAt,omitzero"`
}

// NewKeyRing returns the ring of a store. It reads nothing yet. An error names the
// field of the configuration that is wrong.
func NewKeyRing(cfg KeyRingConfig) (*KeyRing, error) {
	if cfg.Store == nil {
		return nil, errors.New("server: KeyRingConfig.Store is required")
	}
	if cfg.Wrapper == nil {
		fixed, err := sandboxWrapper()
		if err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
		cfg.Wrapper = fixed
	}
	if cfg.Clock == nil {
		cfg.Clock = &clock.Movable{}
	}
	return &KeyRing{keys.New(keys.Config{Store: cfg.Store, Vault: vault.New(cfg.Wrapper), Clock: cfg.Clock})}, nil
}

// KeyRing is the service's own.
func (s *Server) KeyRing() *KeyRing { return &KeyRing{s.keys} }

// List is all keys, the oldest first. It changes nothing. Errors are the store's.
func (r *KeyRing) List(ctx context.Context) ([]SigningKey, error) {
	all, err := r.keys.List(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]SigningKey, 0, len(all))
	for _, k := range all {
		list = append(list, signingKey(k))
	}
	return list, nil
}

// Rotate makes the next key the one that signs, retires the one before it, whose
// private part is destroyed, and publishes another next one. What the retired key
// signed stays valid. With force it does so however short a time the next key was
// published.
//
// Errors: [ErrKeyTooYoung], [ErrTooManyKeys], vault.ErrSealed where Wrapper is not
// the service's: nothing has changed. After any other error List tells.
func (r *KeyRing) Rotate(ctx context.Context, force bool) (SigningKey, error) {
	k, err := r.keys.Rotate(ctx, force)
	return signingKey(k), err
}

// Revoke takes a key out of use for good, from any state: no mandate that it
// signed is valid any more. Where it is the one that signs, the next one takes over.
//
// Errors: mandate.ErrKeyUnknown, vault.ErrSealed as Rotate.
func (r *KeyRing) Revoke(ctx context.Context, id string) (SigningKey, error) {
	k, err := r.keys.Revoke(ctx, id)
	return signingKey(k), err
}

func signingKey(k keys.Key) SigningKey {
	return SigningKey{
		ID: k.ID(), State: k.State, Published: k.Published,
		CreatedAt: k.CreatedAt, CurrentAt: k.CurrentAt, RetiredAt: k.RetiredAt, RevokedAt: k.RevokedAt,
	}
}
