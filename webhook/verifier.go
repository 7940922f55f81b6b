package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxBody is the largest body that is verified, in bytes.
	MaxBody = 256 << 10
	// maxHeader is the longest signature header, in bytes. It limits the number of
	// signatures that are compared.
	maxHeader        = 4 << 10
	defaultTolerance = 300 * time.Second
)

// Errors of [Verifier.Verify], in addition to [ErrSecret].
var (
	// ErrSignature reports a signature that is missing, malformed, or of another secret or
	// body.
	ErrSignature = errors.New("webhook: signature does not verify")
	// ErrTimestamp reports a delivery that was signed too long ago, or too far in the future.
	ErrTimestamp = errors.New("webhook: timestamp is outside of the tolerance")
	// ErrTooLarge reports a body larger than [MaxBody].
	ErrTooLarge = fmt.Errorf("webhook: body is larger than %d bytes", MaxBody)
	// ErrMalformed reports a signed body that is not an event.
	ErrMalformed = errors.New("webhook: body is not an event")
)

// Verifier verifies deliveries. Printed, it does not show the secrets.
type Verifier struct {
	// Secrets are the signing secrets (whsec_…) that are accepted: the endpoint's, and during
	// a rotation the previous one too. Required.
	Secrets []string
	// Tolerance is the largest difference between the time of signing and now, in both
	// directions. Default: 300 s.
	Tolerance time.Duration
	// Clock returns the current time. Default: time.Now.
	Clock func() time.Time
}

// Verify verifies the signature of a delivery and returns its event, which may be of an unknown
// type. It checks for [ErrSecret], [ErrTooLarge], [ErrSignature], [ErrTimestamp] and
// [ErrMalformed], in this order.
func (v Verifier) Verify(header http.Header, body []byte) (Event, error) {
	all, err := keys(v.Secrets)
	if err != nil {
		return Event{}, err
	}
	if len(body) > MaxBody {
		return Event{}, ErrTooLarge
	}
	s, ok := parseSignature(header.Values(HeaderSignature))
	if !ok || !s.matches(all, body) {
		return Event{}, ErrSignature
	}
	if !v.near(s.at) {
		return Event{}, ErrTimestamp
	}
	var e Event
	if json.Unmarshal(body, &e) != nil || e.ID == "" || e.Type == "" {
		return Event{}, ErrMalformed
	}
	return e, nil
}

// near reports whether a time is within the tolerance.
func (v Verifier) near(at time.Time) bool {
	now, tolerance := time.Now, v.Tolerance
	if v.Clock != nil {
		now = v.Clock
	}
	if tolerance == 0 {
		tolerance = defaultTolerance
	}
	return now().Sub(at).Abs() <= tolerance
}

// Format hides the secrets for every verb.
func (v Verifier) Format(f fmt.State, _ rune) {
	_, _ = fmt.Fprintf(f, "webhook.Verifier{Secrets:[%d redacted] Tolerance:%s}", len(v.Secrets), v.Tolerance)
}

// signature is a parsed X-Service-Signature.
type signature struct {
	seconds string // as it was signed
	at      time.Time
	macs    [][]byte
}

// parseSignature parses the header, of which there must be exactly one. It ignores members
// other than t and v1.
func parseSignature(values []string) (signature, bool) {
	if len(values) != 1 || len(values[0]) > maxHeader {
		return signature{}, false
	}
	var s signature
	for member := range strings.SplitSeq(values[0], ",") {
		name, value, found := strings.Cut(strings.TrimSpace(member), "=")
		switch {
		case !found:
			return signature{}, false
		case name == "t":
			seconds, err := strconv.ParseUint(value, 10, 36)
			if err != nil || s.seconds != "" {
				return signature{}, false
			}
			s.seconds, s.at = value, time.Unix(int64(seconds), 0)
		case name == "v1":
			if m, err := hex.DecodeString(value); err == nil {
				s.macs = append(s.macs, m)
			}
		}
	}
	return s, s.seconds != "" && len(s.macs) > 0
}

// matches compares every signature with every key, in constant time.
func (s signature) matches(keys [][]byte, body []byte) bool {
	found := false
	for _, key := range keys {
		want := mac(hmac.New(sha256.New, key), nil, []byte(s.seconds+"."), body)
		for _, m := range s.macs {
			found = hmac.Equal(want, m) || found
		}
	}
	return found
}
