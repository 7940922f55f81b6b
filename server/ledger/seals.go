package ledger

import "context"

// SealKind says what sealed bytes are of.
type SealKind string

// What is sealed.
const (
	KeySeal    SealKind = "key"    // a private key, by name
	TokenSeal  SealKind = "token"  // the token of a mandate, kept with its session
	SecretSeal SealKind = "secret" // a webhook endpoint's secret
	FormerSeal SealKind = "former" // a webhook endpoint's secret before that
)

// SealKinds are all there are.
func SealKinds() []SealKind { return []SealKind{KeySeal, TokenSeal, SecretSeal, FormerSeal} }

// Seal is sealed bytes, with where they are and whose.
type Seal struct {
	Kind   SealKind
	Place  string // the row
	Owner  string // a key's name, a mandate's id, an endpoint's id
	Sealed []byte
}

// Seals are all that is sealed, for who wraps it under another key.
type Seals interface {
	// Seals lists those of a kind whose place comes after one, in order, at most
	// limit.
	Seals(ctx context.Context, kind SealKind, after string, limit int) ([]Seal, error)
	// Reseal replaces the bytes, unless they have changed since or are gone; it tells
	// whether it did.
	Reseal(ctx context.Context, s Seal, fresh []byte) (bool, error)
}
