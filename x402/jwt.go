package x402

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Secret is a facilitator's key in base64. It is redacted when printed, logged or
// encoded; [Secret.Reveal] returns it.
type Secret string

const redacted = "[redacted]"

// Reveal returns the key.
func (s Secret) Reveal() string { return string(s) }

// String hides the key.
func (s Secret) String() string { return redacted }

// GoString hides the key.
func (s Secret) GoString() string { return redacted }

// LogValue hides the key.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the key; it returns no error.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// tokenLife is how long the signature of one call is valid.
const tokenLife = 120 * time.Second

// signer signs calls to a facilitator.
type signer struct {
	keyID string
	key   ed25519.PrivateKey
	clock func() time.Time
}

func newSigner(keyID string, secret Secret, clock func() time.Time) (*signer, error) {
	if keyID == "" {
		return nil, errors.New("x402: FacilitatorConfig.KeyID: is required with Secret")
	}
	if secret == "" {
		return nil, errors.New("x402: FacilitatorConfig.Secret: is required with KeyID")
	}
	key, err := base64.StdEncoding.DecodeString(secret.Reveal())
	if err != nil || len(key) != ed25519.PrivateKeySize {
		return nil, fmt.Errorf("x402: FacilitatorConfig.Secret: want %d bytes in base64: an Ed25519 seed and its public key", ed25519.PrivateKeySize)
	}
	private := ed25519.NewKeyFromSeed(key[:ed25519.SeedSize])
	if !private.Equal(ed25519.PrivateKey(key)) {
		return nil, errors.New("x402: FacilitatorConfig.Secret: the public key is not that of the seed")
	}
	return &signer{keyID: keyID, key: private, clock: clock}, nil
}

// token returns a JWT for one call: its method, host and path.
func (s *signer) token(method string, target *url.URL) (string, error) {
	now := s.clock()
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"sub":  s.keyID,
		"iss":  "cdp",
		"aud":  []string{"cdp_service"},
		"iat":  now.Unix(),
		"nbf":  now.Unix(),
		"exp":  now.Add(tokenLife).Unix(),
		"uris": []string{method + " " + target.Host + target.Path},
	})
	var nonce [16]byte
	_, _ = rand.Read(nonce[:]) // never fails: crypto/rand ends the program instead
	t.Header["kid"] = s.keyID
	t.Header["nonce"] = hex.EncodeToString(nonce[:])
	signed, err := t.SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign call: %w", err)
	}
	return signed, nil
}
