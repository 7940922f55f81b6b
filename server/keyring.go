package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/internal/text"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/internal/keys"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Errors of [KeyRing.Rotate].
var (
	// ErrKeyTooYoung reports that the next key was published less than six minutes
	// ago: verifiers may not have it yet.
	ErrKeyTooYoung = keys.ErrTooYoung
	// ErrTooManyKeys reports that one more key would make the set longer than verifiers read.
	ErrTooManyKeys = keys.ErrTooMany
)

// KeyStore is the part of a [store.Store] that a [KeyRing] uses.
type KeyStore interface {
	// SealedKeys returns the keys whose names begin with prefix, oldest first.
	SealedKeys(ctx context.Context, prefix string) ([]store.SealedKey, error)
	// AddSealedKey inserts a key. It returns [ledger.ErrConflict] if the name exists.
	AddSealedKey(ctx context.Context, k store.SealedKey) error
	// PutSealedKey inserts or replaces a key.
	PutSealedKey(ctx context.Context, k store.SealedKey) error
	// AddAudit adds an entry to the audit log.
	AddAudit(ctx context.Context, e store.AuditEntry) error
}

// KeyRingConfig configures a [KeyRing].
type KeyRingConfig struct {
	// Store is the service's store. Required; the ring does not close it.
	Store KeyStore
	// Wrapper is the service's key-encryption key. Default: the sandbox's fixed key.
	Wrapper vault.Wrapper
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
	// Actor names the person or program that acts, for the audit log. Default: "service".
	Actor string
}

// KeyRing manages the keys that sign a service's mandates, in the service's process or
// in another one on the same store. A running service sees changes within two seconds,
// and at once if a token names a key that it does not know. Each change is written to the
// audit log once it is made.
type KeyRing struct {
	keys   *keys.Keys
	config KeyRingConfig
}

// SigningKey is one key of a [KeyRing]. A time is zero until the key reaches that state.
type SigningKey struct {
	// ID is the key's RFC 7638 thumbprint, the kid of its signatures.
	ID string `json:"id"`
	// State is the key's state: next, current, retired or revoked.
	State mandate.KeyState `json:"state"`
	// Published reports whether the key is in the published key set.
	Published bool `json:"published"`
	// CreatedAt is the time at which the key was generated.
	CreatedAt time.Time `json:"createdAt"`
	// CurrentAt is the time at which the key began to sign.
	CurrentAt time.Time `json:"currentAt,omitzero"`
	// RetiredAt is the time at which the key ceased to sign.
	RetiredAt time.Time `json:"retiredAt,omitzero"`
	// RevokedAt is the time at which the key was revoked.
	RevokedAt time.Time `json:"revokedAt,omitzero"`
}

// NewKeyRing returns the key ring of a store. It performs no I/O. The returned error
// names the invalid field.
func NewKeyRing(cfg KeyRingConfig) (*KeyRing, error) {
	if cfg.Store == nil {
		return nil, errors.New("server: KeyRingConfig.Store is required")
	}
	if !text.Clean(cfg.Actor) {
		return nil, errors.New("server: KeyRingConfig.Actor must be one line of text")
	}
	if cfg.Wrapper == nil {
		fixed, err := sandboxWrapper()
		if err != nil {
			return nil, fmt.Errorf("server: %w", err)
		}
		cfg.Wrapper = fixed
	}
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Actor == "" {
		cfg.Actor = service
	}
	return &KeyRing{keys.New(keys.Config{Store: cfg.Store, Vault: vault.New(cfg.Wrapper), Clock: cfg.Clock}), cfg}, nil
}

// service is the actor of changes that a program makes without naming one.
const service = "service"

// KeyRing returns the service's key ring.
func (s *Server) KeyRing() *KeyRing {
	return &KeyRing{s.keys, KeyRingConfig{Store: s.config.Store, Clock: s.config.Clock, Actor: service}}
}

// List returns all keys, oldest first. Its errors are those of the store.
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

// Rotate makes the next key current, retires the current one, destroys its private
// part, and publishes a new next key. Mandates signed by the retired key stay valid.
// If force is set, the next key may have been published only a moment ago.
//
// It returns [ErrKeyTooYoung], [ErrTooManyKeys], or vault.ErrSealed if Wrapper is not
// the service's; nothing has changed then. After any other error, call List to see
// whether the rotation took place.
func (r *KeyRing) Rotate(ctx context.Context, force bool) (SigningKey, error) {
	k, err := r.keys.Rotate(ctx, force)
	if err == nil {
		detail := ""
		if force {
			detail = "forced"
		}
		err = r.record(ctx, "key.rotate", k.ID(), detail)
	}
	return signingKey(k), err
}

// Revoke ends a key for good, from any state: mandates that it signed are no longer
// valid. If it is the current key, the next one becomes current.
//
// It returns mandate.ErrKeyUnknown, or vault.ErrSealed as Rotate does.
func (r *KeyRing) Revoke(ctx context.Context, id string) (SigningKey, error) {
	k, err := r.keys.Revoke(ctx, id)
	if err == nil {
		err = r.record(ctx, "key.revoke", k.ID(), "")
	}
	return signingKey(k), err
}

// RecordRewrap writes to the audit log that a number of secrets were wrapped under the
// current key-encryption key, and whether the other keys were then forgotten. Call it
// after [Rewrap].
func (r *KeyRing) RecordRewrap(ctx context.Context, secrets int, forgot bool) error {
	detail := fmt.Sprintf("%d secrets", secrets)
	if forgot {
		detail += ", old keys forgotten"
	}
	return r.record(ctx, "key.rewrap", "key-encryption-key", detail)
}

// record writes a change that was made to the audit log.
func (r *KeyRing) record(ctx context.Context, action, subject, detail string) error {
	err := addAudit(ctx, r.config.Store, r.config.Clock(), store.AuditEntry{Actor: r.config.Actor, Action: action, Subject: subject, Detail: detail})
	if err != nil {
		return fmt.Errorf("%s of %s was done but not recorded: %w", action, subject, err)
	}
	return nil
}

func signingKey(k keys.Key) SigningKey {
	return SigningKey{
		ID: k.ID(), State: k.State, Published: k.Published,
		CreatedAt: k.CreatedAt, CurrentAt: k.CurrentAt, RetiredAt: k.RetiredAt, RevokedAt: k.RevokedAt,
	}
}
