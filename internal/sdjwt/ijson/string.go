package ijson

import (
	"unicode/utf16"
	"unicode/utf8"
)

// string parses up to the closing quote, after the opening one. Text without escapes is a
// slice of the input.
func (p *parser) string() (string, bool) {
	start, wide := p.pos, false
	for ; p.pos < len(p.src); p.pos++ {
		switch c := p.src[p.pos]; {
		case c == '"':
			s := p.src[start:p.pos]
			p.pos++
			return s, !wide || interchangeable(s)
		case c == '\\':
			return p.escaped(start)
		case c < ' ':
			return "", false
		case c >= utf8.RuneSelf:
			wide = true
		}
	}
	return "", false
}

// escaped parses a string from its first escape on.
func (p *parser) escaped(start int) (string, bool) {
	buf := append(make([]byte, 0, p.pos-start+32), p.src[start:p.pos]...)
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		p.pos++
		switch {
		case c == '"':
			s := string(buf)
			return s, interchangeable(s)
		case c < ' ':
			return "", false
		case c != '\\':
			buf = append(buf, c)
		default:
			r, ok := p.escape()
			if !ok {
				return "", false
			}
			buf = utf8.AppendRune(buf, r)
		}
	}
	return "", false
}

// escape parses what follows a backslash.
func (p *parser) escape() (rune, bool) {
	if p.pos >= len(p.src) {
		return 0, false
	}
	c := p.src[p.pos]
	p.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	case 'u':
		return p.unicode()
	default:
		return 0, false
	}
}

// unicode parses four hexadecimal digits. A high surrogate must be followed by the escape
// of a low one, and a low one must not stand alone.
func (p *parser) unicode() (rune, bool) {
	r, ok := p.hex4()
	if !ok || !utf16.IsSurrogate(r) {
		return r, ok
	}
	if !p.skip('\\') || !p.skip('u') {
		return 0, false
	}
	low, ok := p.hex4()
	pair := utf16.DecodeRune(r, low)
	return pair, ok && pair != utf8.RuneError
}

func (p *parser) hex4() (rune, bool) {
	if len(p.src)-p.pos < 4 {
		return 0, false
	}
	var r rune
	for range 4 {
		c := p.src[p.pos]
		p.pos++
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// interchangeable reports whether s is free of noncharacters (RFC 7493 section 2.1).
func interchangeable(s string) bool {
	for _, r := range s {
		if r&0xfffe == 0xfffe || (r >= 0xfdd0 && r <= 0xfdef) {
			return false
		}
	}
	return true
}
