package card

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
)

const redacted = "[redacted]"

// Key is the secret that a processor shares with those who may call it over HTTP.
// It shows itself to nobody who does not ask [Key.Reveal].
type Key string

// String redacts.
func (Key) String() string { return redacted }

// GoString redacts.
func (Key) GoString() string { return redacted }

// LogValue redacts.
func (Key) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText redacts, and with it JSON.
func (Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Reveal returns the secret.
func (k Key) Reveal() string { return string(k) }

// admits tells whether a bearer token is the key, in a time that does not depend
// on how much of it is right.
func (k Key) admits(token string) bool {
	want, got := sha256.Sum256([]byte(k)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}
