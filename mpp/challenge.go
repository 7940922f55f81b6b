package mpp

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Challenge is a WWW-Authenticate challenge of the scheme: one offer to pay.
type Challenge struct {
	// ID binds the challenge to the server; see [Signer].
	ID string `json:"id"`
	// Realm is the protection space: the host of the resource.
	Realm string `json:"realm"`
	// Method is the payment method, such as [MethodEVM].
	Method string `json:"method"`
	// Intent is the kind of payment, such as [IntentCharge].
	Intent string `json:"intent"`
	// Request describes the payment in the form of the method, encoded by [EncodeJSON];
	// see [ChargeRequest].
	Request string `json:"request"`
	// Expires is when the challenge expires, in RFC 3339. Optional.
	Expires string `json:"expires,omitempty"`
	// Digest binds the body of the request (RFC 9530). Optional.
	Digest string `json:"digest,omitempty"`
	// Description is a text for people. Optional. The id does not bind it.
	Description string `json:"description,omitempty"`
	// Opaque is data of the server, which clients return unchanged. Optional.
	Opaque string `json:"opaque,omitempty"`
}

// param is a parameter of a challenge, or a member of an object.
type param struct {
	name  string
	value *string
}

// params returns the parameters in the order of the header. The first five are required.
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

// Header returns the challenge as a WWW-Authenticate value, with every parameter a
// quoted-string. It returns an error if a required parameter is empty, or if one has a
// control character: CR and LF would start another header.
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

// complete reports whether every required parameter is set.
func (c *Challenge) complete() bool {
	params := c.params()
	for _, p := range params[:requiredParams] {
		if *p.value == "" {
			return false
		}
	}
	return true
}

// ExpiresAt returns the time of Expires, or the zero time if the challenge does not
// expire. It returns an error if Expires is not in RFC 3339.
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
	// ErrNoChallenge reports that there is no complete challenge of the scheme.
	ErrNoChallenge = errors.New("no Payment challenge")
	// ErrSyntax reports a value that is not a list of challenges.
	ErrSyntax = errors.New("malformed authentication header")
)

// ParseChallenges returns the challenges of the scheme in WWW-Authenticate values. A value
// may hold several challenges, and challenges of other schemes. Challenges that lack a
// required parameter are skipped; of a repeated parameter the first counts. It returns
// [ErrNoChallenge] if none remains, and [ErrSyntax] if a value is malformed.
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

// set sets a parameter unless it is already set.
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
