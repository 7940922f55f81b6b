package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
)

// SecretPrefix is the prefix of signing secrets.
const SecretPrefix = "whsec_"

// The size of a decoded secret in bytes. Standard Webhooks allow 24 to 64; the service uses
// 32.
const minSecret, maxSecret = 24, 64

// ErrSecret reports a signing secret that is missing or malformed.
var ErrSecret = errors.New("webhook: a signing secret (whsec_…) is missing or malformed")

// NewSecret returns a random signing secret of 256 bits.
func NewSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return SecretPrefix + base64.StdEncoding.EncodeToString(b[:])
}

// keys returns the decoded secrets. It returns [ErrSecret] if there is none or one is
// malformed. The error does not contain secrets.
func keys(secrets []string) ([][]byte, error) {
	if len(secrets) == 0 {
		return nil, ErrSecret
	}
	all := make([][]byte, len(secrets))
	for i, s := range secrets {
		encoded, ok := strings.CutPrefix(strings.TrimSpace(s), SecretPrefix)
		key, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil || len(key) < minSecret || len(key) > maxSecret {
			return nil, ErrSecret
		}
		all[i] = key
	}
	return all, nil
}
