package paywall

import (
	"encoding/json"
	"reflect"

	"github.com/paywarrant/paywarrant/x402"
)

// declared holds what the challenge says to directories about a route, encoded.
type declared struct {
	resource json.RawMessage // the resource of version 2
	bazaar   json.RawMessage // the extension bazaar; nil without Discovery
}

func newDeclared(p x402.PaymentRequired) (d declared, err error) {
	if d.resource, err = json.Marshal(p.Resource); err != nil {
		return d, err
	}
	if e, ok := p.Extensions[x402.ExtensionBazaar]; ok {
		d.bazaar, err = json.Marshal(e)
	}
	return d, err
}

// correct returns a payment of version 2 with the declarations that the client echoed as the
// gate made them. Facilitators list a resource by the payment that they settle, under the
// payee's name, and a payer could otherwise write the description and the schema. Nothing is
// added, because a facilitator limits the length of a payment, and a payment whose
// declarations are the gate's is returned as it is.
func (d declared) correct(raw json.RawMessage) (json.RawMessage, error) {
	var payment, echoed map[string]json.RawMessage
	if err := json.Unmarshal(raw, &payment); err != nil {
		return nil, err
	}
	if e := payment["extensions"]; e != nil {
		if err := json.Unmarshal(e, &echoed); err != nil {
			return nil, err
		}
	}
	resource := replace(payment, "resource", d.resource)
	bazaar := replace(echoed, x402.ExtensionBazaar, d.bazaar)
	if !resource && !bazaar {
		return raw, nil
	}
	if bazaar {
		var err error
		if payment["extensions"], err = json.Marshal(echoed); err != nil {
			return nil, err
		}
	}
	return json.Marshal(payment)
}

// replace sets a member of an object if it has one that differs, or deletes it if ours is nil,
// and reports whether it changed the object.
func replace(object map[string]json.RawMessage, name string, ours json.RawMessage) bool {
	theirs, ok := object[name]
	switch {
	case !ok || ours != nil && sameJSON(theirs, ours):
		return false
	case ours == nil:
		delete(object, name)
	default:
		object[name] = ours
	}
	return true
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
