package mpp

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Challenge is one offer to pay: a WWW-Authenticate challenge of the scheme.
type Challenge struct {
	// ID identifies the challenge; see [Signer].
	ID string `json:"id"`
	// Realm is the space that is protected: a host.
	Realm string `json:"realm"`
	// Method and Intent say how and what for: "evm", "charge".
	Method string `json:"method"`
	Intent string `json:"intent"`
	// Request is what is asked, of the method's own form ([EncodeJSON]).
	Request string `json:"request"`
	// Expires is when the challenge ends, RFC 3339. Optional.
	Expires string `json:"expires,omitempty"`
	// Digest binds the body of the request (RFC 9530). Optional.
	Digest string `json:"digest,omitempty"`
	// Description is for people. Optional, and not bound by the id.
	Description string `json:"description,omitempty"`
	// Opaque is the server's own, given back untouched. Optional.
	Opaque string `json:"opaque,omitempty"`
}

// param is one parameter, in the order in which they are written.
type param struct {
	name  string
	value *string
}

// params lists the parameters; the first five are required.
func (c *Challenge) params() [9]param {
	return [9]param{
		{"id", &c.ID},
		{"realm", &c.Realm},
		{"method", &c.Method},
		{"intent", &c.Intent},
		{"request", &c.Request},
		{"expires", &c.Expires},
		{"digest", &c.Digest},
		{"description", &c.Description},
		{"opaque", &c.Opaque},
	}
}

const requiredParams = 5

// Header writes the challenge as a WWW-Authenticate value, every parameter a
// quoted-string. An error where a required parameter is empty, or one has a
// character that no header may carry: CR and LF would start a header of their own.
func (c Challenge) Header() (string, error) {
	b := make([]byte, 0, 128+len(c.Request))
	b = append(b, Scheme...)
	sep := " "
	for i, p := range c.params() {
		if *p.value == "" {
			if i < requiredParams {
				return "", fmt.Errorf("challenge parameter %s: is required", p.name)
			}
			continue
		}
		b = append(append(append(b, sep...), p.name...), '=')
		var err error
		if b, err = appendQuoted(b, *p.value); err != nil {
			return "", fmt.Errorf("challenge parameter %s: %w", p.name, err)
		}
		sep = ", "
	}
	return string(b), nil
}

// complete tells whether every required parameter is there.
func (c *Challenge) complete() bool {
	params := c.params()
	for _, p := range params[:requiredParams] {
		if *p.value == "" {
			return false
		}
	}
	return true
}

// ExpiresAt reads Expires; zero where the challenge does not end. An error where
// it is not RFC 3339.
func (c Challenge) ExpiresAt() (time.Time, error) {
	if c.Expires == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, c.Expires)
	if err != nil {
		return time.Time{}, errors.New("expires is not a time of RFC 3339")
	}
	return t, nil
}

// Errors of [ParseChallenges].
var (
	// ErrNoChallenge: there is no complete challenge of the scheme.
	ErrNoChallenge = errors.New("no Payment challenge")
	// ErrSyntax: it is no list of challenges.
	ErrSyntax = errors.New("malformed authentication header")
)

// ParseChallenges reads the challenges of the scheme out of WWW-Authenticate
// values: one header a value, or several joined by commas, those of other
// schemes among them. An offer that lacks a required parameter is left out; of a
// parameter given twice the first counts. [ErrNoChallenge] where none is left,
// [ErrSyntax] where a value cannot be read to its end.
func ParseChallenges(values ...string) ([]Challenge, error) {
	var out []Challenge
	total := 0
	for _, value := range values {
		if total += len(value); total > MaxChallengeHeader {
			return nil, fmt.Errorf("%w: over %d bytes", ErrSyntax, MaxChallengeHeader)
		}
		s := scanner{text: value}
		list, err := s.challenges()
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	if len(out) == 0 {
		return nil, ErrNoChallenge
	}
	return out, nil
}

// set keeps a parameter, unless it is there already.
func (c *Challenge) set(name, value string) {
	for _, p := range c.params() {
		if strings.EqualFold(p.name, name) {
			if *p.value == "" {
				*p.value = value
			}
			return
		}
	}
}
