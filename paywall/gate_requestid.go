package paywall

import (
	"crypto/rand"
	"net/http"
	"time"
)

// crockford is the alphabet of ULIDs.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// maxRequestID is the longest request id from outside that is accepted, in bytes.
const maxRequestID = 128

// requestID returns the id that outer middleware has set on the response, or that of the
// request if it is valid, or a new one: req_ and a ULID.
func requestID(answered, asked http.Header, now time.Time) string {
	for _, list := range [...][]string{answered[HeaderRequestID], asked[HeaderRequestID]} {
		if len(list) > 0 && list[0] != "" && len(list[0]) <= maxRequestID && plainText(list[0]) {
			return list[0]
		}
	}
	var raw [16]byte
	_, _ = rand.Read(raw[6:]) // never fails: crypto/rand ends the program instead
	ms := uint64(now.UnixMilli())
	for i := range 6 {
		raw[i] = byte(ms >> (40 - 8*i))
	}
	out := [30]byte{'r', 'e', 'q', '_'}
	// 128 bits in digits of 5 bits; the first digit has 3.
	bits, have, at := uint(0), 2, 4
	for _, b := range raw {
		bits, have = bits<<8|uint(b), have+8
		for have >= 5 {
			have -= 5
			out[at] = crockford[bits>>have&31]
			at++
		}
	}
	return string(out[:])
}

// plainText reports whether s needs no escaping in JSON and in a header.
func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
