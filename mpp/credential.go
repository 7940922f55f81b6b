package mpp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// Credential is the payment of a challenge.
type Credential struct {
	// Challenge is the challenge that is paid, unchanged.
	Challenge Challenge
	// Source is the DID of the payer, which is not verified. Optional.
	Source string
	// Payload is the proof of payment in the form of the method; see
	// [AuthorizationPayload].
	Payload json.RawMessage
}

// Errors of [CredentialFrom].
var (
	// ErrNoCredential reports that no header has a credential of the scheme.
	ErrNoCredential = errors.New("no Payment credential")
	// ErrMultipleCredentials reports more than one credential of the scheme.
	ErrMultipleCredentials = errors.New("more than one Payment credential")
	// ErrMalformedCredential reports a credential that cannot be decoded.
	ErrMalformedCredential = errors.New("malformed Payment credential")
)

// CredentialFrom returns the credential of the scheme in Authorization or
// Payment-Authorization. It ignores credentials of other schemes. It returns
// [ErrNoCredential], [ErrMultipleCredentials] or [ErrMalformedCredential].
func CredentialFrom(h http.Header) (Credential, error) {
	found, count := "", 0
	for _, name := range [...]string{HeaderCredential, HeaderCredentialAside} {
		for _, value := range h[http.CanonicalHeaderKey(name)] {
			for element := range elements(value) {
				if scheme, _, _ := strings.Cut(element, " "); strings.EqualFold(scheme, Scheme) {
					found = element
					count++
				}
			}
		}
	}
	switch count {
	case 0:
		return Credential{}, ErrNoCredential
	case 1:
		return ParseCredential(found)
	}
	return Credential{}, ErrMultipleCredentials
}

// RemoveCredential removes every credential of the scheme from Authorization and
// Payment-Authorization. It keeps credentials of other schemes.
func RemoveCredential(h http.Header) {
	for _, name := range [...]string{HeaderCredential, HeaderCredentialAside} {
		key := http.CanonicalHeaderKey(name)
		var kept []string
		for _, value := range h[key] {
			if rest := withoutScheme(value); rest != "" {
				kept = append(kept, rest)
			}
		}
		if len(kept) == 0 {
			delete(h, key)
		} else {
			h[key] = kept
		}
	}
}

// withoutScheme returns a header value without credentials of the scheme.
func withoutScheme(value string) string {
	var kept []string
	removed := false
	for element := range elements(value) {
		if scheme, _, _ := strings.Cut(element, " "); strings.EqualFold(scheme, Scheme) {
			removed = true
		} else if element != "" {
			kept = append(kept, element)
		}
	}
	if !removed {
		return value
	}
	return strings.Join(kept, ", ")
}

// elements splits a header value at commas outside of quoted strings.
func elements(value string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start, quoted := 0, false
		for i := 0; i < len(value); i++ {
			switch c := value[i]; {
			case c == '\\' && quoted:
				i++
			case c == '"':
				quoted = !quoted
			case c == ',' && !quoted:
				if !yield(strings.Trim(value[start:i], " \t")) {
					return
				}
				start = i + 1
			}
		}
		yield(strings.Trim(value[start:], " \t"))
	}
}

// ParseCredential parses an Authorization value of the scheme: "Payment" and base64url of
// strict JSON. It returns an [ErrMalformedCredential] that states the defect.
func ParseCredential(value string) (Credential, error) {
	c, err := parseCredential(value)
	if err != nil {
		return Credential{}, fmt.Errorf("%w: %w", ErrMalformedCredential, err)
	}
	return c, nil
}

func parseCredential(value string) (c Credential, err error) {
	if len(value) > MaxCredentialHeader {
		return c, fmt.Errorf("over %d bytes", MaxCredentialHeader)
	}
	scheme, token, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, Scheme) {
		return c, errors.New("not of the scheme Payment")
	}
	token = strings.Trim(token, " ")
	if token == "" {
		return c, errors.New("no token")
	}
	data, err := DecodeBase64(token)
	if err != nil {
		return c, err
	}
	outer, err := members(data)
	if err != nil {
		return c, err
	}
	if c.Source, err = text(outer, "source"); err != nil {
		return c, err
	}
	payload, inner := outer.Get("payload"), outer.Get("challenge")
	if payload.Kind() != ijson.Object || inner.Kind() != ijson.Object {
		return c, errors.New("want challenge and payload, both objects")
	}
	c.Payload = payload.AppendJSON(nil)
	for i, p := range c.Challenge.params() {
		if *p.value, err = text(inner, p.name); err != nil {
			return c, fmt.Errorf("challenge: %w", err)
		}
		if i < requiredParams && *p.value == "" {
			return c, fmt.Errorf("challenge: %s is missing", p.name)
		}
	}
	return c, nil
}

// Header returns the credential as an Authorization value. It returns an error if the
// payload is not JSON.
func (c Credential) Header() (string, error) {
	data, err := json.Marshal(struct {
		Challenge Challenge       `json:"challenge"`
		Source    string          `json:"source,omitempty"`
		Payload   json.RawMessage `json:"payload"`
	}{c.Challenge, c.Source, c.Payload})
	if err != nil {
		return "", fmt.Errorf("encode credential: %w", err)
	}
	return Scheme + " " + base64.RawURLEncoding.EncodeToString(data), nil
}
