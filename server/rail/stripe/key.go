package stripe

import "log/slog"

const redacted = "[redacted]"

// Key is a secret: an API key, or the signing secret of a webhook endpoint. Printed, logged
// or marshaled, it shows a placeholder; [Key.Reveal] returns it.
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
