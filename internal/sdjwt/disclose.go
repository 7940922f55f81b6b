package sdjwt

import (
	"crypto/sha256"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// Scope is a place in the payload, as a [Profile] tells places apart. Below an
// Open place digests are allowed, in a Sealed one and below it they are not.
type Scope uint8

// The scopes that every profile has. Its own ones are numbers from 2 on, with
// the bit of Sealed where digests are not allowed.
const (
	Open   Scope = 0
	Root   Scope = 1 // the claims themselves: reserved names never come by disclosure
	Sealed Scope = 0x80
)

func (s Scope) sealed() bool { return s&Sealed != 0 }

// Profile says what a credential type lets be hidden.
type Profile interface {
	// Member is the scope of a member of an object.
	Member(object Scope, name string) Scope
	// Element is the scope of the elements of an array.
	Element(array Scope) Scope
	// Reserved tells whether a claim at a Root place may not come by disclosure.
	Reserved(name string) bool
}

// parsed is a disclosure that has been read.
type parsed struct {
	name   string
	member bool // three elements: a member of an object
	value  *ijson.Value
}

// walker puts disclosures into a payload.
type walker struct {
	profile  Profile
	byDigest map[string]*parsed
	seen     map[string]struct{}
	unused   int
}

// Disclose puts the disclosures into claims, in place, and removes what belongs
// to SD-JWT itself (rules 15 to 18). Errors: [*Error] with bad_json,
// duplicate_key or a reason of the disclosures.
func (t *Token) Disclose(claims *ijson.Value, profile Profile) error {
	if alg := claims.Get("_sd_alg"); alg != nil && !alg.Is("sha-256") {
		return refuse(BadSDAlg)
	}
	w := walker{profile: profile}
	if err := w.read(t.Disclosures); err != nil {
		return err
	}
	if err := w.object(claims, Root, true); err != nil {
		return err
	}
	if w.unused > 0 {
		return refuse(DisclosureUnreferenced)
	}
	return nil
}

func (w *walker) read(disclosures []Disclosure) error {
	if len(disclosures) == 0 {
		return nil
	}
	w.byDigest = make(map[string]*parsed, len(disclosures))
	for _, d := range disclosures {
		p, err := readDisclosure(d.json)
		if err != nil {
			return err
		}
		digest := Digest(d.Text)
		if _, ok := w.byDigest[digest]; ok {
			return refuse(DisclosureRepeated)
		}
		w.byDigest[digest] = p
		w.unused++
	}
	return nil
}

// Digest is base64url(SHA-256(text)).
func Digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return Encode64(sum[:])
}

func readDisclosure(json string) (*parsed, error) {
	a, err := parse(json, ijson.Any)
	if err != nil {
		return nil, err
	}
	n := a.Len()
	if a.Kind() != ijson.Array || n < 2 || n > 3 || a.Child(0).Kind() != ijson.String {
		return nil, refuse(BadDisclosure)
	}
	if n == 2 {
		return &parsed{value: a.Child(1)}, nil
	}
	name, ok := a.Child(1).Str()
	if !ok {
		return nil, refuse(BadDisclosure)
	}
	if name == "_sd" || name == "..." {
		return nil, refuse(DisclosureNameForbidden)
	}
	return &parsed{name: name, member: true, value: a.Child(2)}, nil
}

func (w *walker) walk(v *ijson.Value, at Scope) error {
	switch v.Kind() {
	case ijson.Object:
		return w.object(v, at, false)
	case ijson.Array:
		return w.array(v, at)
	default:
		return nil
	}
}

func (w *walker) object(o *ijson.Value, at Scope, top bool) error {
	var sd *ijson.Value
	special := false
	for m := range o.Children() {
		switch m.Name() {
		case "...":
			return refuse(BadSD)
		case "_sd":
			sd, special = m, true
		case "_sd_alg":
			if special = true; !top {
				return refuse(BadSDAlg)
			}
		}
	}
	if special { // taken out first, so that what is disclosed meets true members only
		_ = o.Rewrite(func(m *ijson.Value) (*ijson.Value, error) {
			if m.Name() == "_sd" || m.Name() == "_sd_alg" {
				return nil, nil
			}
			return m, nil
		})
	}
	if sd != nil {
		if err := w.hidden(o, sd, at); err != nil {
			return err
		}
	}
	for m := range o.Children() {
		if err := w.walk(m, w.profile.Member(at, m.Name())); err != nil {
			return err
		}
	}
	return nil
}

// hidden puts the disclosed members of o into it.
func (w *walker) hidden(o, sd *ijson.Value, at Scope) error {
	if sd.Kind() != ijson.Array {
		return refuse(BadSD)
	}
	for d := range sd.Children() {
		if d.Kind() != ijson.String {
			return refuse(BadSD)
		}
	}
	if at.sealed() {
		return refuse(SDInProtectedClaim)
	}
	for d := range sd.Children() {
		digest, _ := d.Str()
		p, err := w.find(digest, true)
		switch {
		case err != nil:
			return err
		case p == nil:
			continue
		case at == Root && w.profile.Reserved(p.name):
			return refuse(DisclosureReserved)
		case o.Get(p.name) != nil:
			return refuse(DisclosureConflict)
		}
		o.Append(p.name, p.value)
	}
	return nil
}

// find looks a digest up, which may be met once only; nil where it is a decoy
// or its disclosure was withheld.
func (w *walker) find(digest string, member bool) (*parsed, error) {
	if _, ok := w.seen[digest]; ok {
		return nil, refuse(DigestRepeated)
	}
	if w.seen == nil {
		w.seen = make(map[string]struct{})
	}
	w.seen[digest] = struct{}{}
	p := w.byDigest[digest]
	if p == nil {
		return nil, nil
	}
	if p.member != member {
		return nil, refuse(BadDisclosure)
	}
	w.unused--
	return p, nil
}

func (w *walker) array(a *ijson.Value, at Scope) error {
	scope := w.profile.Element(at)
	return a.Rewrite(func(e *ijson.Value) (*ijson.Value, error) {
		if hidden := e.Get("..."); hidden != nil {
			digest, ok := hidden.Str()
			if !ok || e.Len() != 1 {
				return nil, refuse(BadSD)
			}
			if scope.sealed() {
				return nil, refuse(SDInProtectedClaim)
			}
			p, err := w.find(digest, false)
			if err != nil || p == nil {
				return nil, err
			}
			e = p.value
		}
		return e, w.walk(e, scope)
	})
}
