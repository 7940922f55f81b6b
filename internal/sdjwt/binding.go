package sdjwt

import (
	"crypto/ecdsa"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// MaxDate is the last second of the year 9999, the end of every date claim.
const MaxDate = 253402300799

// BindingTyp is the typ of a key-binding JWT (RFC 9901 section 4.3).
const BindingTyp = "kb+jwt"

// Binding is what a key-binding JWT is verified against.
type Binding struct {
	// Key is the holder's key, taken from the verified payload.
	Key *ecdsa.PublicKey
	// Now is the time in Unix seconds, Skew the tolerated difference between clocks, and
	// MaxAge the maximum age of the binding, in seconds.
	Now, Skew, MaxAge int64
	// Audience and Nonce are the expected values. With Lax, an empty one matches any value,
	// but the claim is still required.
	Audience, Nonce string
	Lax             bool
	// AllowStale also accepts a binding that is too old; Stale reports it.
	AllowStale bool
}

// VerifyBinding verifies the key-binding JWT (rules 30 to 34) and returns its claims, or
// nil if there is none. It returns an [*Error] with bad_json, duplicate_key or a reason
// about the key binding.
func (t *Token) VerifyBinding(b Binding) (*ijson.Value, error) {
	if t.Binding == nil {
		return nil, nil
	}
	_, err := t.Binding.readHeader(BindingTyp, headerReasons{KBBadAlg, KBBadTyp, KBHeaderForbidden, KBHeaderForbidden})
	if err != nil {
		return nil, err
	}
	if !verifyES256(b.Key, t.Binding.signed, t.Binding.signature) {
		return nil, refuse(KBBadSignature)
	}
	claims, err := t.Binding.Claims()
	if err != nil {
		return nil, err
	}
	if err := b.times(claims); err != nil {
		return nil, err
	}
	switch {
	case !b.named(claims.Get("aud"), b.Audience):
		return nil, refuse(KBBadAud)
	case !b.named(claims.Get("nonce"), b.Nonce):
		return nil, refuse(KBBadNonce)
	case !claims.Get("sd_hash").Is(Digest(t.bound)):
		return nil, refuse(KBBadSDHash)
	}
	return claims, nil
}

func (b Binding) times(claims *ijson.Value) error {
	iat, ok := claims.Get("iat").Int(1, MaxDate)
	exp := claims.Get("exp")
	_, dated := exp.Int(1, MaxDate)
	switch {
	case !ok:
		return refuse(KBBadIat)
	case iat > b.Now+b.Skew:
		return refuse(KBIatInFuture)
	case exp != nil && !dated, !b.AllowStale && b.Stale(claims):
		return refuse(KBStale)
	}
	return nil
}

// Stale reports whether a binding is too old, given its verified claims.
func (b Binding) Stale(claims *ijson.Value) bool {
	iat, _ := claims.Get("iat").Int(1, MaxDate)
	exp, ends := claims.Get("exp").Int(1, MaxDate)
	return b.Now-iat > b.MaxAge || (ends && b.Now >= exp+b.Skew)
}

// named reports whether the claim is one non-empty string, and the expected one.
func (b Binding) named(claim *ijson.Value, expected string) bool {
	s, ok := claim.Str()
	if !ok || s == "" {
		return false
	}
	return s == expected || (b.Lax && expected == "")
}
