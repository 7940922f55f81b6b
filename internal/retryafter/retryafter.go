// Package retryafter reads the Retry-After header (RFC 9110 §10.2.3).
package retryafter

import (
	"errors"
	"net/http"
	"strconv"
	"time"
)

// Read returns how long a Retry-After asks to wait, given as seconds or as a date, but at
// most limit. It returns 0 if the header is missing, malformed, or in the past.
func Read(value string, limit time.Duration) time.Duration {
	if value == "" {
		return 0
	}
	seconds, err := strconv.ParseUint(value, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) { // out of range: seconds is the largest number
		return time.Duration(min(seconds, uint64(limit/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, min(time.Until(at), limit))
	}
	return 0
}

// Set writes the header in whole seconds, rounded up. It writes nothing if d is not positive.
func Set(h http.Header, d time.Duration) {
	if d > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10))
	}
}
