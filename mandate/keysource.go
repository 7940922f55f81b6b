package mandate

import (
	"context"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// ErrKeyUnknown is returned by a [KeySource] for a key that the issuer does not publish.
var ErrKeyUnknown = errors.New("unknown key")

// KeySource finds the issuer's keys by thumbprint. [StaticKeys], [RemoteKeys] and
// [*KeySet] implement it. Implementations must be safe for concurrent use, and fast,
// because every verification calls them, cached or not.
type KeySource interface {
	// Key returns the key with the thumbprint kid. It returns ErrKeyUnknown if the issuer
	// has no such key; any other error means that the keys are not available now.
	Key(ctx context.Context, kid string) (PublicKey, error)
}

type staticKeys map[string]PublicKey

// StaticKeys returns a source of exactly these keys. Zero keys are ignored.
func StaticKeys(keys ...PublicKey) KeySource {
	s := make(staticKeys, len(keys))
	for _, k := range keys {
		if !k.IsZero() {
			s[k.ID()] = k
		}
	}
	return s
}

func (s staticKeys) Key(_ context.Context, kid string) (PublicKey, error) {
	k, ok := s[kid]
	if !ok {
		return PublicKey{}, ErrKeyUnknown
	}
	return k, nil
}

// MaxJWKSKeys is the maximum number of entries of a key set.
const MaxJWKSKeys = 100

// ParseJWKS parses a JSON Web Key Set strictly and returns its usable keys: P-256, for
// signatures, with their own thumbprint as kid. Other keys are left out. It returns an
// error if b is not a key set, or has more than [MaxJWKSKeys] entries.
func ParseJWKS(b []byte) ([]PublicKey, error) {
	v, err := ijson.Parse(string(b), ijson.Object)
	if err != nil {
		return nil, fmt.Errorf("parse key set: %w", err)
	}
	list := v.Get("keys")
	if list.Kind() != ijson.Array {
		return nil, errors.New("parse key set: no array keys")
	}
	if list.Len() > MaxJWKSKeys {
		return nil, fmt.Errorf("parse key set: more than %d keys", MaxJWKSKeys)
	}
	var keys []PublicKey
	for e := range list.Children() {
		if k, ok := readJWK(e); ok && e.Get("kid").Is(k.ID()) {
			keys = append(keys, k)
		}
	}
	return keys, nil
}
