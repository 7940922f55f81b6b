package x402

import (
	"encoding/json"
	"maps"
)

// Requirements is one way to pay, in v2's form (specification v2 §5.1.2).
type Requirements struct {
	Scheme            string         `json:"scheme"`
	Network           string         `json:"network"` // CAIP-2
	Amount            string         `json:"amount"`  // base units of the token
	Asset             string         `json:"asset"`   // token contract
	PayTo             string         `json:"payTo"`
	MaxTimeoutSeconds int64          `json:"maxTimeoutSeconds"`
	Extra             map[string]any `json:"extra,omitempty"` // name, version, paymentFlow

	encoded json.RawMessage // of Encoded
}

// RequirementsV1 is one way to pay, in v1's form (specification v1 §5.1.2).
type RequirementsV1 struct {
	Scheme            string          `json:"scheme"`
	Network           string          `json:"network"` // v1 name
	MaxAmountRequired string          `json:"maxAmountRequired"`
	Asset             string          `json:"asset"`
	PayTo             string          `json:"payTo"`
	Resource          string          `json:"resource"`
	Description       string          `json:"description"`
	MimeType          string          `json:"mimeType"`
	OutputSchema      json.RawMessage `json:"outputSchema,omitempty"`
	MaxTimeoutSeconds int64           `json:"maxTimeoutSeconds"`
	Extra             map[string]any  `json:"extra,omitempty"`

	encoded json.RawMessage // of Encoded
}

// Encoded is r with its JSON at hand, so that a [Facilitator] need not make it
// for every call. Do not change it afterwards. An error where it cannot be encoded.
func (r Requirements) Encoded() (Requirements, error) {
	var err error
	r.encoded, err = json.Marshal(r)
	return r, err
}

// Encoded is r with its JSON at hand; see [Requirements.Encoded].
func (r RequirementsV1) Encoded() (RequirementsV1, error) {
	var err error
	r.encoded, err = json.Marshal(r)
	return r, err
}

// Keys of Extra.
const (
	ExtraName        = "name"
	ExtraVersion     = "version"
	ExtraPaymentFlow = "paymentFlow"
)

// FlowUpfront is the payment flow that settles before it serves. x402's default
// verifies, works and settles last.
const FlowUpfront = "upfront"

// Equal reports whether two requirements ask for the same: addresses without case,
// everything else exactly, Extra member by member.
func (r Requirements) Equal(other Requirements) bool {
	return r.Scheme == other.Scheme && r.Network == other.Network && r.Amount == other.Amount &&
		SameAddress(r.Asset, other.Asset) && SameAddress(r.PayTo, other.PayTo) &&
		r.MaxTimeoutSeconds == other.MaxTimeoutSeconds && sameExtra(r.Extra, other.Extra)
}

func sameExtra(a, b map[string]any) bool {
	return maps.EqualFunc(a, b, func(x, y any) bool {
		s, okLeft := x.(string)
		t, okRight := y.(string)
		if okLeft && okRight {
			return s == t
		}
		left, errLeft := json.Marshal(x)
		right, errRight := json.Marshal(y)
		return errLeft == nil && errRight == nil && string(left) == string(right)
	})
}

func decodeRequirements(o *object) (r Requirements, err error) {
	fields := []struct {
		name string
		to   *string
	}{
		{"scheme", &r.Scheme},
		{"network", &r.Network},
		{"amount", &r.Amount},
		{"asset", &r.Asset},
		{"payTo", &r.PayTo},
	}
	for _, f := range fields {
		if *f.to, err = o.text(f.name); err != nil {
			return r, err
		}
	}
	if !IsAmount(r.Amount) {
		return r, malformed(o.at("amount"), "not an amount in base units")
	}
	r.MaxTimeoutSeconds, r.Extra, err = decodeTimeoutAndExtra(o)
	return r, err
}

func decodeRequirementsV1(o *object) (r RequirementsV1, err error) {
	required := []struct {
		name string
		to   *string
	}{
		{"scheme", &r.Scheme},
		{"network", &r.Network},
		{"maxAmountRequired", &r.MaxAmountRequired},
		{"asset", &r.Asset},
		{"payTo", &r.PayTo},
		{"resource", &r.Resource},
	}
	for _, f := range required {
		if *f.to, err = o.text(f.name); err != nil {
			return r, err
		}
	}
	if !IsAmount(r.MaxAmountRequired) {
		return r, malformed(o.at("maxAmountRequired"), "not an amount in base units")
	}
	if r.Description, err = o.optionalText("description"); err != nil {
		return r, err
	}
	if r.MimeType, err = o.optionalText("mimeType"); err != nil {
		return r, err
	}
	r.OutputSchema = o.json("outputSchema")
	r.MaxTimeoutSeconds, r.Extra, err = decodeTimeoutAndExtra(o)
	return r, err
}

func decodeTimeoutAndExtra(o *object) (timeout int64, extra map[string]any, err error) {
	if timeout, err = o.integer("maxTimeoutSeconds"); err != nil {
		return 0, nil, err
	}
	if timeout <= 0 {
		return 0, nil, malformed(o.at("maxTimeoutSeconds"), "not positive")
	}
	if !o.has("extra") {
		return timeout, nil, nil
	}
	inner, err := o.object("extra")
	if err != nil {
		return 0, nil, malformed(o.at("extra"), "of another form")
	}
	extra = make(map[string]any, inner.value.Len())
	for member := range inner.value.Children() {
		text, ok := member.Str()
		if !ok {
			return timeout, extra, o.decode("extra", &extra) // what else there may be, package json reads
		}
		extra[member.Name()] = text
	}
	return timeout, extra, nil
}
