package card

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
)

const redacted = "[redacted]"

// Key is the secret that callers of a processor over HTTP must present. Printed, logged or
// marshaled, it shows a placeholder; [Key.Reveal] returns it.
type Key string

// String returns a placeholder.
func (Key) String() string { return redacted }

// GoString returns a placeholder.
func (Key) GoString() string { return redacted }

// LogValue returns a placeholder.
func (Key) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns a placeholder, also for JSON.
func (Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Reveal returns the secret.
func (k Key) Reveal() string { return string(k) }

// admits reports whether a bearer token is the key, in constant time.
func (k Key) admits(token string) bool {
	want, got := sha256.Sum256([]byte(k)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}
