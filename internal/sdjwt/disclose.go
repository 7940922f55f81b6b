package sdjwt

import (
	"crypto/sha256"

	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// Scope is a location in the payload, as a [Profile] distinguishes them. Digests are
// allowed below an Open location, but not in or below a Sealed one.
type Scope uint8

// The scopes that every profile has. A profile numbers its own from 2, with the bit of
// Sealed set if digests are not allowed.
const (
	Open   Scope = 0
	Root   Scope = 1 // the claims themselves, whose reserved names cannot be disclosed
	Sealed Scope = 0x80
)

func (s Scope) sealed() bool { return s&Sealed != 0 }

// Profile defines what a credential type allows to be hidden.
type Profile interface {
	// Member returns the scope of a member of an object.
	Member(object Scope, name string) Scope
	// Element returns the scope of an array's elements.
	Element(array Scope) Scope
	// Reserved reports whether a claim at a Root location must not be disclosed.
	Reserved(name string) bool
}

// parsed is a parsed disclosure.
type parsed struct {
	name   string
	member bool // it has three elements: a member of an object
	value  *ijson.Value
}

// walker inserts disclosures into a payload.
type walker struct {
	profile  Profile
	byDigest map[string]*parsed
	seen     map[string]struct{}
	unused   int
}

// Disclose inserts the disclosures into claims, in place, and removes the members of
// SD-JWT itself (rules 15 to 18). It returns an [*Error] with bad_json, duplicate_key or a
// reason about the disclosures.
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

// Digest returns base64url(SHA-256(text)).
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
	if special { // removed first, so that disclosed members are compared with real ones only
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

// hidden inserts the disclosed members of o.
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

// find returns the disclosure of a digest, which may occur only once. It returns nil for a
// decoy and for a withheld disclosure.
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
