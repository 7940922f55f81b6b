package mpp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strings"
	"sync"
	"time"
)

// minSecret is the shortest secret that is accepted, in bytes.
const minSecret = 16

// bound returns the text that the id of a challenge binds: realm, method, intent, request,
// expires, digest and opaque, joined by "|".
func bound(c Challenge) string { return strings.Join(slots(c), "|") }

func slots(c Challenge) []string {
	return []string{c.Realm, c.Method, c.Intent, c.Request, c.Expires, c.Digest, c.Opaque}
}

// Signer signs and verifies challenges. The id of a challenge is the base64url of an
// HMAC-SHA256 over realm, method, intent, request, expires, digest and opaque, joined by
// "|". The description is not bound. The separators are not escaped, so a Signer rejects
// parameters with "|": they could move from one position to the next under one id.
//
// It is safe for concurrent use.
type Signer struct {
	macs []*sync.Pool // of hash.Hash, a pool for each secret: creating one costs more than using it
}

// NewSigner returns a Signer with secrets of at least 16 bytes. The first signs and all
// verify, so that secrets can be rotated. The returned error gives the position of the
// invalid secret.
func NewSigner(secrets ...string) (*Signer, error) {
	if len(secrets) == 0 {
		return nil, errors.New("no secret")
	}
	s := &Signer{}
	for i, secret := range secrets {
		if len(secret) < minSecret {
			return nil, fmt.Errorf("secret %d: has %d bytes, want at least %d", i, len(secret), minSecret)
		}
		s.macs = append(s.macs, &sync.Pool{New: func() any { return hmac.New(sha256.New, []byte(secret)) }})
	}
	return s, nil
}

// Sign sets the id of c. It returns an error if a required parameter is empty or a bound
// one has a "|".
func (s *Signer) Sign(c *Challenge) error {
	c.ID = "-" // so that it is complete
	if !c.complete() {
		return errors.New("sign challenge: a required parameter is empty")
	}
	if !separable(*c) {
		return errors.New(`sign challenge: a parameter has a "|"`)
	}
	c.ID = s.id(0, bound(*c))
	return nil
}

// Verify reports whether the challenge was signed with one of the secrets and is unchanged.
// It does not check the expiry, nor that the challenge is for this resource.
func (s *Signer) Verify(c Challenge) bool {
	if !c.complete() || !separable(c) {
		return false
	}
	text, ok := bound(c), false
	for i := range s.macs {
		if hmac.Equal([]byte(s.id(i, text)), []byte(c.ID)) {
			ok = true // no early return, which would reveal which secret matched
		}
	}
	return ok
}

func separable(c Challenge) bool {
	for _, slot := range slots(c) {
		if strings.Contains(slot, "|") {
			return false
		}
	}
	return true
}

func (s *Signer) id(secret int, text string) string {
	mac, _ := s.macs[secret].Get().(hash.Hash)
	defer s.macs[secret].Put(mac)
	mac.Reset()
	mac.Write([]byte(text))
	var sum [sha256.Size]byte
	return base64.RawURLEncoding.EncodeToString(mac.Sum(sum[:0]))
}

// Issuer issues challenges that differ only in id, expiry and nonce. It encodes everything
// else once. It is safe for concurrent use.
type Issuer struct {
	signer *Signer
	fixed  Challenge
	bound  string // "realm|method|intent|request|"
	middle string // between the id and the expiry
	after  string // between the expiry and the nonce
}

// NewIssuer returns an Issuer of challenges like c. ID, Expires and Opaque are set for each
// challenge. It returns an error if c is incomplete, or if a parameter has a control
// character or a bound one has a "|".
func NewIssuer(s *Signer, c Challenge) (*Issuer, error) {
	c.Expires, c.Opaque = "", ""
	if err := s.Sign(&c); err != nil {
		return nil, err
	}
	c.ID, c.Expires, c.Opaque = "0", "0", "0"
	header, err := c.Header()
	if err != nil {
		return nil, err
	}
	i := &Issuer{signer: s, fixed: c, bound: strings.Join(slots(c)[:4], "|") + "|"}
	_, rest, _ := strings.Cut(header, `id="0`)
	i.middle, rest, _ = strings.Cut(rest, `, expires="0`)
	i.middle += `, expires="`
	i.after = strings.TrimSuffix(rest, `0"`)
	return i, nil
}

// Issued is an issued challenge.
type Issued struct {
	// ID is the id of the challenge.
	ID string
	// Header is the WWW-Authenticate value.
	Header string
}

// nonceSize is the size of the nonce of a challenge, in bytes.
const nonceSize = 12

// Issue returns a challenge that expires at a time, truncated to milliseconds. Its opaque
// parameter holds a random nonce. Without it two challenges of one millisecond would be
// equal, and one payer could use up the other's.
func (i *Issuer) Issue(expires time.Time) Issued {
	var nonce [nonceSize]byte
	_, _ = rand.Read(nonce[:]) // never fails: crypto/rand ends the program instead

	const open, shut = `{"nonce":"`, `"}`
	var plain [len(open) + nonceSize/3*4 + len(shut)]byte
	copy(plain[:], open)
	base64.RawURLEncoding.Encode(plain[len(open):], nonce[:])
	copy(plain[len(plain)-len(shut):], shut)
	var opaque [(len(plain)*8 + 5) / 6]byte
	base64.RawURLEncoding.Encode(opaque[:], plain[:])

	var stamp [len(expiryForm)]byte
	until := expires.UTC().AppendFormat(stamp[:0], expiryForm)

	text := make([]byte, 0, len(i.bound)+len(until)+len(i.fixed.Digest)+len(opaque)+2)
	text = append(append(append(text, i.bound...), until...), '|')
	text = append(append(append(text, i.fixed.Digest...), '|'), opaque[:]...)

	mac, _ := i.signer.macs[0].Get().(hash.Hash)
	mac.Reset()
	mac.Write(text)
	var sum [sha256.Size]byte
	var id [(sha256.Size*8 + 5) / 6]byte
	base64.RawURLEncoding.Encode(id[:], mac.Sum(sum[:0]))
	i.signer.macs[0].Put(mac)

	header := make([]byte, 0, len(Scheme)+5+len(id)+len(i.middle)+len(until)+len(i.after)+len(opaque)+1)
	header = append(append(append(header, Scheme+` id="`...), id[:]...), i.middle...)
	header = append(append(append(header, until...), i.after...), opaque[:]...)
	all := string(append(header, '"'))
	start := len(Scheme) + len(` id="`)
	return Issued{ID: all[start : start+len(id)], Header: all}
}

const expiryForm = "2006-01-02T15:04:05.000Z"
