package bundle

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/golang-jwt/jwt/v5"
)

// minSecret is the shortest secret of HS256, in bytes: that of its hash.
const minSecret = 32

// Key signs and verifies tokens with one algorithm. Printed or logged, it does not show
// the key.
type Key struct {
	id     string
	method jwt.SigningMethod
	sign   any
	verify any
	secret []byte // for mac
}

// HS256 returns a symmetric key: a secret of at least 32 bytes. Tokens contain the id. It
// returns an error if the secret is too short, or if the id does not have 1 to 64 bytes.
func HS256(id string, secret []byte) (Key, error) {
	if len(secret) < minSecret {
		return Key{}, fmt.Errorf("bundle: key %q: has %d bytes, want at least %d", id, len(secret), minSecret)
	}
	kept := append([]byte(nil), secret...)
	return newKey(id, jwt.SigningMethodHS256, kept, kept, kept)
}

// ES256 returns a key on P-256, whose public key others can verify tokens with. Tokens
// contain the id. It returns an error if the key is on another curve, or if the id does
// not have 1 to 64 bytes.
func ES256(id string, key *ecdsa.PrivateKey) (Key, error) {
	if key == nil || key.Curve != elliptic.P256() {
		return Key{}, fmt.Errorf("bundle: key %q: is not on P-256", id)
	}
	secret, err := key.Bytes()
	if err != nil {
		return Key{}, fmt.Errorf("bundle: key %q: %w", id, err)
	}
	return newKey(id, jwt.SigningMethodES256, key, &key.PublicKey, secret)
}

func newKey(id string, m jwt.SigningMethod, sign, verify any, secret []byte) (Key, error) {
	if id == "" || len(id) > 64 {
		return Key{}, errors.New("bundle: key: want an id of 1 to 64 bytes")
	}
	return Key{id: id, method: m, sign: sign, verify: verify, secret: secret}, nil
}

// mac authenticates the return address of an order. Its text has a space, so it cannot be
// the text of a token.
func (k Key) mac(key, tier string) string {
	h := hmac.New(sha256.New, k.secret)
	_, _ = fmt.Fprintf(h, "bundle order %d:%s%s", len(key), key, tier)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// Format prints the id and the algorithm for every verb.
func (k Key) Format(f fmt.State, _ rune) {
	alg := "none"
	if k.method != nil {
		alg = k.method.Alg()
	}
	_, _ = io.WriteString(f, "bundle.Key{"+alg+" "+k.id+"}")
}

// LogValue returns the id.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.id) }
