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

// minSecret is the shortest secret that is taken, in bytes.
const minSecret = 16

// ChallengeID is the id that binds a challenge to a secret: base64url of the
// HMAC-SHA256 over realm, method, intent, request, expires, digest and opaque,
// joined by "|", empty ones kept. The description is not bound.
//
// Separators are not escaped, so that values with "|" could be shifted from one
// slot to the next under one id: [Signer] takes none.
func ChallengeID(secret []byte, c Challenge) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(bound(c)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func bound(c Challenge) string { return strings.Join(slots(c), "|") }

func slots(c Challenge) []string {
	return []string{c.Realm, c.Method, c.Intent, c.Request, c.Expires, c.Digest, c.Opaque}
}

// Signer makes and checks the ids of challenges. Safe for concurrent use.
type Signer struct {
	macs []*sync.Pool // of hash.Hash, one pool a secret: keying one costs more than using it
}

// NewSigner takes secrets of at least 16 bytes: the first signs, all verify, so
// that a new one can be put in front while challenges of the old one are out. An
// error that names the position of the one that is wrong.
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

// Sign sets the id. An error where a bound parameter has a "|" or a required one is empty.
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

// Verify tells whether the challenge is one of ours, whole and unchanged. It
// says nothing of its expiry, nor of whether it fits the route.
func (s *Signer) Verify(c Challenge) bool {
	if !c.complete() || !separable(c) {
		return false
	}
	text, ok := bound(c), false
	for i := range s.macs {
		if hmac.Equal([]byte(s.id(i, text)), []byte(c.ID)) {
			ok = true // and go on: time must not tell which secret it was
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

// Issuer makes many challenges that differ in id, expiry and nonce alone.
// Everything else is encoded once. Safe for concurrent use.
type Issuer struct {
	signer *Signer
	fixed  Challenge
	bound  string // "realm|method|intent|request|"
	middle string // between the id and the expiry
	after  string // between the expiry and the nonce
}

// NewIssuer prepares challenges like c; its ID, Expires and Opaque are set anew
// for each. An error where c is incomplete or has a character that no header, or
// no bound parameter, may carry.
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

// Issued is a challenge on its way to a client.
type Issued struct {
	// ID is the id of the challenge.
	ID string
	// Header is the WWW-Authenticate value.
	Header string
}

// nonceSize is the size of the nonce that tells two challenges of one moment apart.
const nonceSize = 12

// Issue makes one challenge that ends at expires, cut to milliseconds. Its
// opaque parameter holds a random nonce: without it two challenges of the same
// millisecond would be one, and one payer could use up the other's.
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
