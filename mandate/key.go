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

// coordinate is the length of x and y on P-256.
const coordinate = 32

// ErrBadKey tells that a key is no usable P-256 public key.
var ErrBadKey = errors.New("not a usable P-256 public key")

// PublicKey is a P-256 public key that nobody can change. The zero PublicKey is
// none. Its JSON form is a JWK (RFC 7517).
type PublicKey struct {
	key *ecdsa.PublicKey // never handed out
}

// NewPublicKey takes over a copy of key.
// Errors: [ErrBadKey] where it is nil, on another curve or no point of it.
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

// publicKeyOf reads an uncompressed point; coordinates that are not reduced are refused.
func publicKeyOf(point []byte) (PublicKey, error) {
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
	if err != nil {
		return PublicKey{}, fmt.Errorf("%w: %w", ErrBadKey, err)
	}
	return PublicKey{key: key}, nil
}

// IsZero tells whether k is no key.
func (k PublicKey) IsZero() bool { return k.key == nil }

// Equal tells whether both are the same key, or both none.
func (k PublicKey) Equal(o PublicKey) bool {
	if k.key == nil || o.key == nil || k.key == o.key {
		return k.key == o.key
	}
	return k.key.Equal(o.key)
}

// ECDSA is a copy of the key, nil for the zero PublicKey.
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

// point is the uncompressed form.
func (k PublicKey) point() []byte {
	b, err := k.key.Bytes()
	if err != nil {
		panic("mandate: a PublicKey is always a point of its curve: " + err.Error())
	}
	return b
}

// ID is the thumbprint of the key (RFC 7638), which is its kid everywhere;
// empty for the zero PublicKey.
func (k PublicKey) ID() string {
	if k.key == nil {
		return ""
	}
	sum := sha256.Sum256(k.appendJWK(nil))
	return sdjwt.Encode64(sum[:])
}

// appendJWK writes the required members in the order of RFC 7638 section 3.2.
func (k PublicKey) appendJWK(dst []byte) []byte {
	p := k.point()
	dst = append(dst, `{"crv":"P-256","kty":"EC","x":"`...)
	dst = append(dst, sdjwt.Encode64(p[1:1+coordinate])...)
	dst = append(dst, `","y":"`...)
	dst = append(dst, sdjwt.Encode64(p[1+coordinate:])...)
	return append(dst, `"}`...)
}

// MarshalJSON writes the JWK, null for the zero PublicKey.
func (k PublicKey) MarshalJSON() ([]byte, error) {
	if k.key == nil {
		return []byte("null"), nil
	}
	return k.appendJWK(nil), nil
}

// UnmarshalJSON reads a JWK strictly. Errors: [ErrBadKey].
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

// readJWK takes a JWK only where nothing about it is in doubt: no other type,
// curve, use or algorithm, no private part, coordinates of full length in
// strict base64url, a point on the curve.
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
