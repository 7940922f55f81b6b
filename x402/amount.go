package x402

import (
	"cmp"
	"math"
	"strconv"
)

// maxDigits is the length of the largest uint256.
const maxDigits = 78

// IsAmount reports whether s is a canonical amount in base units: only digits, no
// leading zero, at most 78 of them.
func IsAmount(s string) bool {
	if s == "" || len(s) > maxDigits || (s[0] == '0' && len(s) > 1) {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// CompareAmounts compares two canonical amounts ([IsAmount]) as numbers. It returns
// -1, 0 or +1.
func CompareAmounts(a, b string) int {
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return cmp.Compare(a, b)
}

// seconds parses a canonical number of seconds, clamped to the largest int64.
func seconds(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return math.MaxInt64
	}
	return n
}
