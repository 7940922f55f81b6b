// Package id generates identifiers and capabilities. An id is a prefix and a ULID: it names
// an object and may be shown. A capability is a prefix and 256 random bits: its holder may
// act, so only its [Hash] is stored.
package id

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// Prefixes of identifiers.
const (
	Charge          = "txn_"
	Mandate         = "del_"
	Event           = "evt_"
	Merchant        = "mer_"
	Request         = "req_"
	Customer        = "cus_"
	WebhookEndpoint = "whe_"
	Checkout        = "chk_"
	Audit           = "aud_"
	Refund          = "rfd_"
	Tab             = "tab_"
	Sweep           = "swp_"
	AccessToken     = "tok_"
	Grant           = "grt_"
	App             = "app_"
	Listing         = "lst_"
	MarketServer    = "srv_"
)

// Prefixes of capabilities.
const (
	Session    = "sess_"
	TestAPIKey = "sk_test_"
	LiveAPIKey = "sk_live_"
	Token      = "token_"
	Code       = "code_"
	Refresh    = "refresh_"
)

// New returns prefix and a ULID of the time. Ids of the same millisecond are in random order.
func New(prefix string, at time.Time) string {
	return prefix + ulid.MustNew(ulid.Timestamp(at), rand.Reader).String()
}

// First returns the lowest id with prefix for a time.
func First(prefix string, at time.Time) string {
	var u ulid.ULID
	if u.SetTime(ulid.Timestamp(at)) != nil { // thousands of years from now
		return prefix + "~"
	}
	return prefix + u.String()
}

// Valid reports whether s is an id with the prefix.
func Valid(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return false
	}
	_, err := ulid.ParseStrict(rest)
	return err == nil
}

// NewCapability returns prefix and 256 random bits in base64url.
func NewCapability(prefix string) string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// Hash returns the form in which a capability is stored: hexadecimal SHA-256.
func Hash(capability string) string {
	sum := sha256.Sum256([]byte(capability))
	return hex.EncodeToString(sum[:])
}

// Derived returns an id in the form of New that depends on nothing but its parts.
func Derived(prefix string, parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return prefix + ulid.ULID(h.Sum(nil)[:16]).String()
}
