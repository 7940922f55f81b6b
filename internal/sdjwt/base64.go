package sdjwt

import (
	"encoding/base64"
	"strings"
)

// decode64 decodes strict base64url: no padding, no other characters, unused
// low bits zero. The standard decoder skips CR and LF even when strict, so they
// are looked for first.
func decode64(s string) (string, bool) {
	if strings.IndexByte(s, '\n') >= 0 || strings.IndexByte(s, '\r') >= 0 {
		return "", false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return string(b), err == nil
}

// Decode64 decodes strict base64url and tells whether s is that.
func Decode64(s string) ([]byte, bool) {
	b, ok := decode64(s)
	return []byte(b), ok
}

// Encode64 encodes base64url without padding.
func Encode64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
