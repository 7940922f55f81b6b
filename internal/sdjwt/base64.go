package sdjwt

import "encoding/base64"

// invalid marks what is no character of base64url.
const invalid = 0xff

// sextets maps characters to their six bits. The standard decoder skips CR and
// LF even when strict, and is slower.
var sextets = func() (t [256]byte) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := range t {
		t[i] = invalid
	}
	for i := range len(alphabet) {
		t[alphabet[i]] = byte(i)
	}
	return t
}()

// appendDecoded decodes strict base64url behind dst: no padding, no other
// characters, a length that is possible, unused low bits zero.
func appendDecoded(dst []byte, s string) ([]byte, bool) {
	for len(s) >= 4 {
		a, b, c, d := sextets[s[0]], sextets[s[1]], sextets[s[2]], sextets[s[3]]
		if a|b|c|d == invalid {
			return dst, false
		}
		dst = append(dst, a<<2|b>>4, b<<4|c>>2, c<<6|d)
		s = s[4:]
	}
	switch len(s) {
	case 0:
		return dst, true
	case 2:
		a, b := sextets[s[0]], sextets[s[1]]
		return append(dst, a<<2|b>>4), a|b != invalid && b&0x0f == 0
	case 3:
		a, b, c := sextets[s[0]], sextets[s[1]], sextets[s[2]]
		return append(dst, a<<2|b>>4, b<<4|c>>2), a|b|c != invalid && c&0x03 == 0
	default:
		return dst, false
	}
}

// Decode64 decodes strict base64url and tells whether s is that.
func Decode64(s string) ([]byte, bool) {
	return appendDecoded(make([]byte, 0, base64.RawURLEncoding.DecodedLen(len(s))), s)
}

// Encode64 encodes base64url without padding.
func Encode64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
