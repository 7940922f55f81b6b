// Package text checks text from callers before it is stored, logged, or shown to a person.
//
//	if err := text.Check(name, 100); err != nil {
//		return invalid("name", err.Error())
//	}
package text

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Errors of [Check], besides the one for text that is too long.
var (
	ErrUTF8    = errors.New("must be valid UTF-8")
	ErrControl = errors.New("must have no control characters, line breaks or text direction characters")
)

// Check reports whether s is one line of text of at most longest characters: valid UTF-8,
// without control characters, line and paragraph separators, and the characters that change
// the direction of text (Unicode's Bidi_Control), which can make a line read differently
// from its content. The error's text fits after the name of a field. Empty text is valid.
func Check(s string, longest int) error {
	switch {
	case !utf8.ValidString(s):
		return ErrUTF8
	case !Clean(s):
		return ErrControl
	case len(s) > longest && utf8.RuneCountInString(s) > longest:
		return fmt.Errorf("must have at most %d characters", longest)
	}
	return nil
}

// Clean reports whether s is valid UTF-8 without the characters that [Check] refuses.
func Clean(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return cleanRunes(s[i:])
		}
	}
	return true
}

func cleanRunes(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) {
			return false
		}
	}
	return true
}
