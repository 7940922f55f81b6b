package mpp

import (
	"errors"
	"fmt"
	"strings"
)

// scanner parses a list of challenges or credentials (RFC 9110 §11.2, §5.6).
type scanner struct {
	text string
	at   int
}

// challenges parses the whole list and returns the complete challenges of the scheme.
func (s *scanner) challenges() ([]Challenge, error) {
	var out []Challenge
	var current *Challenge // nil: the parameters belong to another scheme
	keep := func() {
		if current != nil && current.complete() {
			out = append(out, *current)
		}
	}
	for started := false; s.listItem(); {
		name := s.token()
		if name == "" {
			return nil, s.fail("a name")
		}
		if s.equals() {
			if !started {
				return nil, s.fail("a scheme")
			}
			if err := s.param(current, name); err != nil {
				return nil, err
			}
			continue
		}
		keep()
		if len(out) >= maxChallenges {
			return nil, fmt.Errorf("%w: more than %d challenges", ErrSyntax, maxChallenges)
		}
		current, started = nil, true
		if strings.EqualFold(name, Scheme) {
			current = &Challenge{}
		}
		if err := s.afterScheme(current); err != nil {
			return nil, err
		}
	}
	keep()
	return out, nil
}

// afterScheme parses what follows a scheme up to the next comma: a first parameter, a
// token68, or nothing.
func (s *scanner) afterScheme(c *Challenge) error {
	if s.end() || s.text[s.at] == ',' {
		return nil
	}
	start := s.at
	if name := s.token(); name != "" && s.equals() && s.valueFollows() {
		return s.param(c, name)
	}
	s.at = start
	s.token68()
	if !s.end() && s.text[s.at] != ',' {
		return s.fail("a comma")
	}
	return nil
}

// param parses a value and sets it in c, unless c is nil.
func (s *scanner) param(c *Challenge, name string) error {
	var value string
	var err error
	if !s.end() && s.text[s.at] == '"' {
		value, err = s.quoted()
	} else if value = s.token(); value == "" {
		err = s.fail("a value")
	}
	if err != nil {
		return err
	}
	if s.space(); !s.end() && s.text[s.at] != ',' {
		return s.fail("a comma")
	}
	if c != nil {
		c.set(name, value)
	}
	return nil
}

// listItem skips commas and white space. It reports false at the end.
func (s *scanner) listItem() bool {
	for !s.end() && (s.text[s.at] == ',' || s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
	return !s.end()
}

func (s *scanner) end() bool { return s.at >= len(s.text) }

func (s *scanner) space() {
	for !s.end() && (s.text[s.at] == ' ' || s.text[s.at] == '\t') {
		s.at++
	}
}

// equals skips white space, an equals sign and the white space after it. It reports
// whether there was an equals sign.
func (s *scanner) equals() bool {
	s.space()
	if s.end() || s.text[s.at] != '=' {
		return false
	}
	s.at++
	s.space()
	return true
}

// valueFollows distinguishes a parameter from a token68 that ends in equals signs.
func (s *scanner) valueFollows() bool {
	return !s.end() && (s.text[s.at] == '"' || tokenChar(s.text[s.at]))
}

func (s *scanner) token() string {
	start := s.at
	for !s.end() && tokenChar(s.text[s.at]) {
		s.at++
	}
	return s.text[start:s.at]
}

func (s *scanner) token68() {
	for !s.end() && (tokenChar(s.text[s.at]) || s.text[s.at] == '/') {
		s.at++
	}
	for !s.end() && s.text[s.at] == '=' {
		s.at++
	}
	s.space()
}

// quoted parses a quoted-string and unescapes it.
func (s *scanner) quoted() (string, error) {
	var b strings.Builder
	for s.at++; !s.end(); s.at++ {
		c := s.text[s.at]
		switch {
		case c == '"':
			s.at++
			return b.String(), nil
		case c == '\\':
			if s.at++; s.end() || !textChar(s.text[s.at]) {
				return "", s.fail("a quoted pair")
			}
			b.WriteByte(s.text[s.at])
		case textChar(c):
			b.WriteByte(c)
		default:
			return "", s.fail("text")
		}
	}
	return "", s.fail("a closing quote")
}

func (s *scanner) fail(want string) error {
	return fmt.Errorf("%w: want %s at byte %d", ErrSyntax, want, s.at)
}

// tokenChar reports whether c is a tchar (RFC 9110 §5.6.2).
func tokenChar(c byte) bool {
	switch {
	case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		return true
	}
	return strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// textChar reports whether c may occur in a quoted-string: tab, space, visible characters
// and obs-text.
func textChar(c byte) bool { return c == '\t' || (c >= ' ' && c != 0x7f) }

var errControl = errors.New("has a control character")

// appendQuoted appends a quoted-string (RFC 9110 §5.6.4).
func appendQuoted(b []byte, value string) ([]byte, error) {
	b = append(b, '"')
	for i := range len(value) {
		c := value[i]
		if !textChar(c) {
			return nil, errControl
		}
		if c == '"' || c == '\\' {
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return append(b, '"'), nil
}
