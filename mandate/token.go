package mandate

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
)

// Prefix starts the text of every mandate that is issued here. Input may lack it.
const Prefix = "dtok_"

// MaxTokenBytes is the maximum length of a token, including the prefix.
const MaxTokenBytes = sdjwt.MaxBytes

const redacted = Prefix + "[redacted]"

// Token is the text of a mandate or of a presentation. The text allows its holder to
// spend, so it is hidden: printing, logging and JSON return a placeholder, also if the
// Token is inside another struct. [Token.Reveal] returns the text.
//
// The zero Token is empty. Do not compare tokens: see the package comment on identity.
type Token struct {
	text *string // a pointer, so that fmt cannot print the text even if it cannot call methods
}

// ParseToken parses the envelope of a token. It verifies nothing; use [Verifier] for that.
// It returns an [*Error] with too_large, bad_format or bad_base64url, which are all
// [ErrMalformed].
func ParseToken(s string) (Token, error) {
	if _, err := split(s); err != nil {
		return Token{}, err
	}
	return newToken(strings.TrimPrefix(s, Prefix)), nil
}

// newToken returns the Token of a text without prefix.
func newToken(text string) Token {
	text = Prefix + text
	return Token{text: &text}
}

// split removes the prefix and splits the envelope (rules 1 to 5).
func split(s string) (*sdjwt.Token, error) {
	if len(s) > MaxTokenBytes {
		return nil, refuse(TooLarge)
	}
	tok, err := sdjwt.Split(strings.TrimPrefix(s, Prefix), false)
	if err != nil {
		return nil, wrap(err)
	}
	return tok, nil
}

// Reveal returns the text with its prefix, or "" for the zero Token. Send it only to the
// party that the mandate is meant for.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// IsZero reports whether t is the zero Token.
func (t Token) IsZero() bool { return t.text == nil }

// String returns a placeholder.
func (t Token) String() string {
	if t.text == nil {
		return ""
	}
	return redacted
}

// GoString returns a placeholder.
func (t Token) GoString() string { return "mandate.Token(" + t.String() + ")" }

// Format prints a placeholder for every verb.
func (t Token) Format(f fmt.State, verb rune) {
	if verb == 'v' && f.Flag('#') {
		_, _ = f.Write([]byte(t.GoString()))
		return
	}
	_, _ = f.Write([]byte(t.String()))
}

// LogValue returns a placeholder.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalJSON returns a placeholder. Wire types must use [Token.Reveal].
func (t Token) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// MarshalText returns a placeholder.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// ClaimedID returns the mandate id that a token claims to have. The token is not verified:
// use the id only to find an earlier, verified request with the same token.
func ClaimedID(token string) (string, bool) {
	tok, err := split(token)
	if err != nil {
		return "", false
	}
	payload, err := tok.Issuer.Claims()
	if err != nil {
		return "", false
	}
	id, ok := payload.Get("jti").Str()
	if list := payload.Get(delegate); !ok && list.Len() == 1 {
		id, ok = list.Child(0).Get("jti").Str()
	}
	return strings.Clone(id), ok && validID(id)
}
