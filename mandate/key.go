package mandate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// coordinate is the length of x and y on P-256, in bytes.
const coordinate = 32

// ErrBadKey reports a key that is not a usable P-256 public key.
var ErrBadKey = errors.New("not a usable P-256 public key")

// PublicKey is an immutable P-256 public key. The zero PublicKey is no key. Its JSON form
// is a JWK (RFC 7517).
type PublicKey struct {
	key *ecdsa.PublicKey // never returned to callers
}

// NewPublicKey returns a PublicKey with a copy of key. It returns [ErrBadKey] if key is
// nil, on another curve, or not a point on its curve.
func NewPublicKey(key *ecdsa.PublicKey) (PublicKey, error) {
	if key == nil || key.Curve != elliptic.P256() || key.X == nil || key.Y == nil { //nolint:staticcheck // read only to see that they are there: Bytes panics without
		return PublicKey{}, ErrBadKey
	}
	point, err := key.Bytes()
	if err != nil {
		return PublicKey{}, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	return publicKeyOf(point)
}

// publicKeyOf parses an uncompressed point. It refuses coordinates that are not reduced.
func publicKeyOf(point []byte) (PublicKey, error) {
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return PublicKey{}, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	return PublicKey{key: key}, nil
}

// IsZero reports whether k is the zero PublicKey.
func (k PublicKey) IsZero() bool { return k.key == nil }

// Equal reports whether both are the same key, or both are zero.
func (k PublicKey) Equal(o PublicKey) bool {
	if k.key == nil || o.key == nil || k.key == o.key {
		return k.key == o.key
	}
	return k.key.Equal(o.key)
}

// ECDSA returns a copy of the key, or nil for the zero PublicKey.
func (k PublicKey) ECDSA() *ecdsa.PublicKey {
	if k.key == nil {
		return nil
	}
	c, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), k.point())
	if err != nil {
		panic("mandate: a PublicKey is always a point of its curve: " + err.Error())
	}
	return c
}

// point returns the uncompressed form.
func (k PublicKey) point() []byte {
	b, err := k.key.Bytes()
	if err != nil {
		panic("mandate: a PublicKey is always a point of its curve: " + err.Error())
	}
	return b
}

// ID returns the key's thumbprint (RFC 7638), which is its kid everywhere, or "" for the
// zero PublicKey.
func (k PublicKey) ID() string {
	if k.key == nil {
		return ""
	}
	sum := sha256.Sum256(k.appendJWK(nil))
	return sdjwt.Encode64(sum[:])
}

// appendJWK appends the required members in the order of RFC 7638 section 3.2.
func (k PublicKey) appendJWK(dst []byte) []byte {
	p := k.point()
	dst = append(dst, `{"crv":"P-256","kty":"EC","x":"`...)
	dst = append(dst, sdjwt.Encode64(p[1:1+coordinate])...)
	dst = append(dst, `","y":"`...)
	dst = append(dst, sdjwt.Encode64(p[1+coordinate:])...)
	return append(dst, `"}`...)
}

// MarshalJSON returns the JWK, or null for the zero PublicKey.
func (k PublicKey) MarshalJSON() ([]byte, error) {
	if k.key == nil {
		return []byte("null"), nil
	}
	return k.appendJWK(nil), nil
}

// UnmarshalJSON parses a JWK strictly. It returns [ErrBadKey] if that fails.
func (k *PublicKey) UnmarshalJSON(b []byte) error {
	v, err := ijson.Parse(string(b), ijson.Object)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	key, ok := readJWK(v)
	if !ok {
		return ErrBadKey
	}
	*k = key
	return nil
}

// readJWK accepts a JWK only if nothing about it is ambiguous: no other type, curve, use
// or algorithm, no private part, coordinates of full length in strict base64url, and a
// point on the curve.
func readJWK(v *ijson.Value) (PublicKey, bool) {
	use, alg := v.Get("use"), v.Get("alg")
	if !v.Get("kty").Is("EC") || !v.Get("crv").Is("P-256") || v.Get("d") != nil ||
		(use != nil && !use.Is("sig")) || (alg != nil && !alg.Is("ES256")) {
		return PublicKey{}, false
	}
	x, okX := readCoordinate(v.Get("x"))
	y, okY := readCoordinate(v.Get("y"))
	if !okX || !okY {
		return PublicKey{}, false
	}
	key, err := publicKeyOf(append(append([]byte{4}, x...), y...))
	return key, err == nil
}

func readCoordinate(v *ijson.Value) ([]byte, bool) {
	s, ok := v.Str()
	if !ok {
		return nil, false
	}
	b, ok := sdjwt.Decode64(s)
	return b, ok && len(b) == coordinate
}

var (
	_ json.Marshaler   = PublicKey{}
	_ json.Unmarshaler = (*PublicKey)(nil)
)
