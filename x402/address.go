package x402

import (
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/crypto/sha3"
)

// ParseAddress returns an EVM address with its EIP-55 checksum. It returns an error
// if s is not "0x" and 40 hexadecimal digits, or if its letters are of mixed case and
// do not match the checksum.
func ParseAddress(s string) (string, error) {
	if !isHex(s, 20) {
		return "", fmt.Errorf("%q is not an address: want 0x and 40 hexadecimal digits", clip(s))
	}
	sum := checksum(s)
	if body := s[2:]; body != strings.ToLower(body) && body != strings.ToUpper(body) && s != sum {
		return "", fmt.Errorf("%q does not match its checksum: want %s", s, sum)
	}
	return sum, nil
}

// SameAddress reports whether two addresses are equal, regardless of case.
func SameAddress(a, b string) bool {
	return len(a) == len(b) && isHex(a, 20) && isHex(b, 20) && strings.EqualFold(a, b)
}

// checksum returns an address in EIP-55 form: a letter is upper case if the hash of
// the lower-case address has a digit of 8 or more at that position.
func checksum(address string) string {
	out := []byte(strings.ToLower(address[2:]))
	h := sha3.NewLegacyKeccak256()
	h.Write(out)
	digits := hex.EncodeToString(h.Sum(nil))
	for i, c := range out {
		if c >= 'a' && digits[i] >= '8' {
			out[i] = c - 'a' + 'A'
		}
	}
	return "0x" + string(out)
}

// isHex reports whether s is "0x" and the hexadecimal digits of n bytes.
func isHex(s string, n int) bool {
	if len(s) != 2+2*n || s[:2] != "0x" {
		return false
	}
	return hexDigits(s[2:])
}

func hexDigits(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

// IsTransactionHash reports whether s is "0x" and 64 hexadecimal digits.
func IsTransactionHash(s string) bool { return isHex(s, 32) }

// clip shortens text from outside for an error message.
func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
