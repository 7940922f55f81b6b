package mandate

import (
	"github.com/paywarrant/paywarrant/internal/sdjwt"
	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// Values and names of the profile.
const (
	typ      = "dc+sd-jwt"
	vct      = "mandate.payment.open.1"
	delegate = "delegate_payload"
)

// Places in the payload, beyond those of sdjwt.
const (
	delegateList   sdjwt.Scope = 2                // array of mandates in AP2's form
	constraintList sdjwt.Scope = sdjwt.Sealed + 1 // array of constraints
	constraint     sdjwt.Scope = sdjwt.Sealed + 2 // one of them
	allowedList    sdjwt.Scope = sdjwt.Sealed + 3 // its allowed array, the elements of which may be hidden
)

// form is the shape of a payload, and what may be hidden in it.
type form struct {
	delegated bool // the mandate sits under delegate_payload
}

// formOf tells AP2's form from the flat one. Both names must be in plain sight,
// so that no disclosure can change the form.
func formOf(payload *ijson.Value) form {
	return form{delegated: payload.Get("vct") == nil && payload.Get(delegate).Kind() == ijson.Array}
}

// Member is the place of a member.
func (f form) Member(object sdjwt.Scope, name string) sdjwt.Scope {
	switch object {
	case sdjwt.Root:
		switch name {
		case "constraints":
			return constraintList
		case "spending_limits", "cnf", "status":
			return sdjwt.Sealed
		case delegate:
			if f.delegated {
				return delegateList
			}
		}
		return sdjwt.Open
	case constraint:
		if name == "allowed" {
			return allowedList
		}
		return sdjwt.Sealed
	default:
		return inherit(object)
	}
}

// Element is the place of an array's elements.
func (f form) Element(array sdjwt.Scope) sdjwt.Scope {
	switch array {
	case delegateList:
		return sdjwt.Root
	case constraintList:
		return constraint
	case allowedList:
		return sdjwt.Open // withholding a payee narrows the mandate
	default:
		return inherit(array)
	}
}

// inherit is the place of what has no meaning of its own: sealed below the sealed.
func inherit(s sdjwt.Scope) sdjwt.Scope { return s & sdjwt.Sealed }

// Reserved tells the claims that never come by disclosure.
func (f form) Reserved(name string) bool {
	switch name {
	case "iss", "iat", "exp", "nbf", "aud", "vct", "vct#integrity", "cnf", "status", "jti",
		"spending_limits", "constraints", "_sd_alg":
		return true
	default:
		return false
	}
}

// claims finds the claims of a processed payload in either form.
type claims struct {
	outer *ijson.Value
	inner *ijson.Value // the mandate of AP2's form, nil in the flat one
	twice *ijson.Value // a null: what a claim reads as that stands in both places
}

// claims of the processed payload. Errors: [*Error] with bad_vct where AP2's
// form does not show exactly one mandate.
func (f form) claims(payload *ijson.Value) (claims, error) {
	if !f.delegated {
		return claims{outer: payload}, nil
	}
	list := payload.Get(delegate)
	if list.Len() != 1 || list.Child(0).Kind() != ijson.Object {
		return claims{}, refuse(BadVct)
	}
	null, _ := ijson.Parse("null", ijson.Null)
	return claims{outer: payload, inner: list.Child(0), twice: null}, nil
}

// own is a claim of the mandate itself.
func (c claims) own(name string) *ijson.Value {
	switch v := c.outer.Get(name); {
	case c.inner == nil:
		return v
	case v != nil:
		return c.twice
	default:
		return c.inner.Get(name)
	}
}

// either is a claim that AP2's form may have in or around the mandate. A claim
// in both places is refused, since nothing says which one counts.
func (c claims) either(name string) *ijson.Value {
	outer, inner := c.outer.Get(name), c.inner.Get(name)
	switch {
	case inner == nil:
		return outer
	case outer == nil:
		return inner
	default:
		return c.twice
	}
}
