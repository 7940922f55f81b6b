package mandate

import (
	"context"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// ErrKeyUnknown is what a [KeySource] answers for a key that the issuer does
// not publish.
var ErrKeyUnknown = errors.New("unknown key")

// KeySource finds the issuer's keys by their thumbprint. [StaticKeys],
// [RemoteKeys] and [*KeySet] are there; implementations must be safe for
// concurrent use and fast, since every verification asks, cached or not.
type KeySource interface {
	// Key is the key with that thumbprint. Errors: ErrKeyUnknown where the
	// issuer has no such key; any other error says that this cannot be known now.
	Key(ctx context.Context, kid string) (PublicKey, error)
}

type staticKeys map[string]PublicKey

// StaticKeys is a source of these keys and no others; zero keys are left out.
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

// MaxJWKSKeys is how many entries a key set may have.
const MaxJWKSKeys = 100

// ParseJWKS reads a JSON Web Key Set strictly and returns its usable keys:
// P-256, for signatures, with a kid that is their own thumbprint. Others are
// left out. Errors: that it is no key set, or one of more than [MaxJWKSKeys] entries.
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
