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

// Key signs and verifies tokens, by one algorithm alone. It shows itself nowhere.
type Key struct {
	id     string
	method jwt.SigningMethod
	sign   any
	verify any
	secret []byte // for mac
}

// HS256 returns a key that only the merchant verifies with: a secret of at least 32
// bytes. The id stands in tokens. It returns an error if either is too short.
func HS256(id string, secret []byte) (Key, error) {
	if len(secret) < minSecret {
		return Key{}, fmt.Errorf("bundle: key %q: %d bytes, want %d or more", id, len(secret), minSecret)
	}
	kept := append([]byte(nil), secret...)
	return newKey(id, jwt.SigningMethodHS256, kept, kept, kept)
}

// ES256 returns a key on P-256, whose public part others may verify with. The id
// stands in tokens. It returns an error if the key is of another curve.
func ES256(id string, key *ecdsa.PrivateKey) (Key, error) {
	if key == nil || key.Curve != elliptic.P256() {
		return Key{}, fmt.Errorf("bundle: key %q: not of P-256", id)
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

// mac authenticates the return address of an order. Its text holds a space, so it
// is never the text of a token.
func (k Key) mac(key, tier string) string {
	h := hmac.New(sha256.New, k.secret)
	_, _ = fmt.Fprintf(h, "bundle order %d:%s%s", len(key), key, tier)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// Format shows id and algorithm, whatever the verb.
func (k Key) Format(f fmt.State, _ rune) {
	alg := "none"
	if k.method != nil {
		alg = k.method.Alg()
	}
	_, _ = io.WriteString(f, "bundle.Key{"+alg+" "+k.id+"}")
}

// LogValue shows the id.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.id) }
