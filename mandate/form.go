package mandate

import (
	"github.com/paywarrant/paywarrant/internal/sdjwt"
	"github.com/paywarrant/paywarrant/internal/sdjwt/ijson"
)

// Names and values of the profile.
const (
	typ      = "dc+sd-jwt"
	vct      = "mandate.payment.open.1"
	delegate = "delegate_payload"
)

// Scopes in the payload, in addition to those of sdjwt.
const (
	delegateList   sdjwt.Scope = 2                // array of mandates in AP2's form
	constraintList sdjwt.Scope = sdjwt.Sealed + 1 // array of constraints
	constraint     sdjwt.Scope = sdjwt.Sealed + 2 // one constraint
	allowedList    sdjwt.Scope = sdjwt.Sealed + 3 // its array allowed, whose elements may be hidden
)

// form is the shape of a payload. It determines what may be hidden in it.
type form struct {
	delegated bool // the mandate is in delegate_payload
}

// formOf distinguishes AP2's form from the flat one. It reads only what is not hidden, so
// that no disclosure can change the form.
func formOf(payload *ijson.Value) form {
	return form{delegated: payload.Get("vct") == nil && payload.Get(delegate).Kind() == ijson.Array}
}

// Member returns the scope of a member.
func (f form) Member(object sdjwt.Scope, name string) sdjwt.Scope {
	switch object {
	case sdjwt.Root:
		switch name {
		case "constraints":
			return constraintList
		case "spending_limits", "further_limits", "cnf", "status":
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

// Element returns the scope of an array's elements.
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

// inherit returns the scope of a value without a meaning of its own: sealed inside a
// sealed one.
func inherit(s sdjwt.Scope) sdjwt.Scope { return s & sdjwt.Sealed }

// Reserved reports whether a claim must not be disclosed.
func (f form) Reserved(name string) bool {
	switch name {
	case "iss", "iat", "exp", "nbf", "aud", "vct", "vct#integrity", "cnf", "status", "jti",
		"spending_limits", "further_limits", "round_up_rest", "constraints", "_sd_alg":
		return true
	default:
		return false
	}
}

// claims holds the claims of a processed payload in either form.
type claims struct {
	outer *ijson.Value
	inner *ijson.Value // the mandate in AP2's form; nil in the flat form
	twice *ijson.Value // a null, returned for a claim that is in both places
}

// claims returns the claims of the processed payload. It returns an [*Error] with bad_vct
// if AP2's form does not disclose exactly one mandate.
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

// own returns a claim of the mandate itself.
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

// either returns a claim that AP2's form allows in the mandate or around it. A claim in
// both places is refused, since it is undefined which one counts.
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
