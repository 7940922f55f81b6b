package ledger

import "context"

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
	// Place identifies the row.
	Place string
	// Owner is a key's name, a mandate's id, or an endpoint's id.
	Owner string
	// Sealed is the sealed secret.
	Sealed []byte
}

// Seals reads and replaces sealed secrets, to wrap them under another key.
type Seals interface {
	// Seals returns at most limit secrets of a kind in the order of their places,
	// beginning after a place.
	Seals(ctx context.Context, kind SealKind, after string, limit int) ([]Seal, error)
	// Reseal replaces a secret and reports whether it did: it does nothing if the stored
	// secret has changed or was deleted.
	Reseal(ctx context.Context, s Seal, fresh []byte) (bool, error)
}
