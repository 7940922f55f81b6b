package mandate

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
)

// Prefix stands before the text of every mandate that is issued here. On input
// it may be missing.
const Prefix = "dtok_"

// MaxTokenBytes is the longest text that is read, prefix included.
const MaxTokenBytes = sdjwt.MaxBytes

const redacted = Prefix + "[redacted]"

// Token is the text of a mandate or of a presentation of one. Who has the text
// may spend, so that it shows itself nowhere: printing, logging and JSON give a
// placeholder, also from inside other structs. [Token.Reveal] gives the text.
//
// The zero Token is empty. Tokens are not to be compared: see the package
// comment on identity.
type Token struct {
	text *string // behind a pointer, so that fmt shows no text even where it cannot call methods
}

// ParseToken reads the envelope of a token and verifies nothing: that is what
// [Verifier] does. Errors: [*Error] with too_large, bad_format or
// bad_base64url, all of them [ErrMalformed].
func ParseToken(s string) (Token, error) {
	if _, err := split(s); err != nil {
		return Token{}, err
	}
	return newToken(strings.TrimPrefix(s, Prefix)), nil
}

// newToken takes text without prefix.
func newToken(text string) Token {
	text = Prefix + text
	return Token{text: &text}
}

// split cuts the prefix and takes the envelope apart (rules 1 to 5).
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

// Reveal is the text, with its prefix; empty for the zero Token. It belongs in
// a request to whom the mandate is meant for and nowhere else.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// IsZero tells whether t is the zero Token.
func (t Token) IsZero() bool { return t.text == nil }

// String is a placeholder.
func (t Token) String() string {
	if t.text == nil {
		return ""
	}
	return redacted
}

// GoString is a placeholder.
func (t Token) GoString() string { return "mandate.Token(" + t.String() + ")" }

// Format writes the placeholder for every verb.
func (t Token) Format(f fmt.State, verb rune) {
	if verb == 'v' && f.Flag('#') {
		_, _ = f.Write([]byte(t.GoString()))
		return
	}
	_, _ = f.Write([]byte(t.String()))
}

// LogValue is a placeholder.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalJSON writes a placeholder; wire types carry what [Token.Reveal] gives.
func (t Token) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// MarshalText writes a placeholder.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// ClaimedID returns the mandate id that a token claims. It verifies nothing, so the
// id is only good for finding out what an earlier, verified request with the token led to.
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
