package store

import (
	"context"
	"time"
)

// SealedKey is a stored private key, sealed by the vault.
type SealedKey struct {
	// Name identifies the key.
	Name string
	// State is the key's state, in the terms of its owner.
	State string
	// Public is the public key.
	Public []byte
	// Sealed is the sealed private key.
	Sealed []byte
	// CreatedAt is the time of creation.
	CreatedAt time.Time
	// ChangedAt is the time of the last change.
	ChangedAt time.Time
}

// Keys stores sealed keys by name.
type Keys interface {
	// SealedKeys returns the keys whose names begin with prefix, oldest first.
	SealedKeys(ctx context.Context, prefix string) ([]SealedKey, error)
	// AddSealedKey inserts a key. It returns [ledger.ErrConflict] if the name exists.
	AddSealedKey(ctx context.Context, k SealedKey) error
	// PutSealedKey inserts or replaces a key.
	PutSealedKey(ctx context.Context, k SealedKey) error
	// DeleteSealedKey deletes a key. It is not an error if there is none.
	DeleteSealedKey(ctx context.Context, name string) error
}

// SealKind is the kind of a sealed secret.
type SealKind string

// The kinds of sealed secrets.
const (
	KeySeal      SealKind = "key"      // a private key, by name
	TokenSeal    SealKind = "token"    // the token of a mandate, kept with its session
	SecretSeal   SealKind = "secret"   // a webhook endpoint's secret
	PreviousSeal SealKind = "previous" // a webhook endpoint's secret before that
)

// SealKinds returns all kinds.
func SealKinds() []SealKind { return []SealKind{KeySeal, TokenSeal, SecretSeal, PreviousSeal} }

// Seal is a sealed secret with its row and owner.
type Seal struct {
	// Kind is the kind of secret.
	Kind SealKind
	// ID identifies the row among those of its kind.
	ID string
	// Owner is a key's name, a mandate's id, or an endpoint's id.
	Owner string
	// Sealed is the sealed secret.
	Sealed []byte
}

// Secrets reads and replaces sealed secrets, to wrap them under another key.
type Secrets interface {
	// Seals returns at most limit secrets of a kind in the order of their ids,
	// beginning after an id.
	Seals(ctx context.Context, kind SealKind, after string, limit int) ([]Seal, error)
	// Reseal replaces a secret and reports whether it did: it does nothing if the stored
	// secret has changed or was deleted.
	Reseal(ctx context.Context, s Seal, fresh []byte) (bool, error)
}
