package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
)

// SecretPrefix is what every signing secret begins with.
const SecretPrefix = "whsec_"

// secretSize bounds what a secret encodes, in bytes. Ours have 32; the standard
// allows 24 to 64.
const minSecret, maxSecret = 24, 64

// ErrSecret reports a signing secret that is missing or malformed.
var ErrSecret = errors.New("webhook: a signing secret (whsec_…) is missing or malformed")

// NewSecret makes a signing secret of 256 random bits.
func NewSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return SecretPrefix + base64.StdEncoding.EncodeToString(b[:])
}

// keys are the bytes of the secrets. It returns [ErrSecret] where there is none,
// or one that cannot be read; the error never shows it.
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
