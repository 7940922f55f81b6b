package x402

import (
	"encoding/json"
	"maps"
)

// Requirements describes one accepted payment in version 2 (specification v2 §5.1.2).
type Requirements struct {
	// Scheme is the payment scheme: [SchemeExact] or [SchemeUpto].
	Scheme string `json:"scheme"`
	// Network is the CAIP-2 name of the network.
	Network string `json:"network"`
	// Amount is the price in base units of the token. With [SchemeUpto] it is the most that
	// is paid, or, in a request to settle, what is paid.
	Amount string `json:"amount"`
	// Asset is the address of the token contract.
	Asset string `json:"asset"`
	// PayTo is the payee's address.
	PayTo string `json:"payTo"`
	// MaxTimeoutSeconds is how long the challenge can be paid.
	MaxTimeoutSeconds int64 `json:"maxTimeoutSeconds"`
	// Extra holds what the scheme adds: [ExtraName], [ExtraVersion], [ExtraPaymentFlow].
	Extra map[string]any `json:"extra,omitempty"`

	encoded json.RawMessage // set by Encoded
}

// RequirementsV1 describes one accepted payment in version 1 (specification v1 §5.1.2).
type RequirementsV1 struct {
	// Scheme is the payment scheme: [SchemeExact].
	Scheme string `json:"scheme"`
	// Network is the v1 name of the network.
	Network string `json:"network"`
	// MaxAmountRequired is the price in base units of the token.
	MaxAmountRequired string `json:"maxAmountRequired"`
	// Asset is the address of the token contract.
	Asset string `json:"asset"`
	// PayTo is the payee's address.
	PayTo string `json:"payTo"`
	// Resource is the absolute URL of what is paid for.
	Resource string `json:"resource"`
	// Description is one sentence for people. May be empty.
	Description string `json:"description"`
	// MimeType is the media type of the resource. May be empty.
	MimeType string `json:"mimeType"`
	// OutputSchema describes the endpoint; see [Declaration.OutputSchemaV1]. Optional.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// MaxTimeoutSeconds is how long the challenge can be paid.
	MaxTimeoutSeconds int64 `json:"maxTimeoutSeconds"`
	// Extra holds what the scheme adds: [ExtraName], [ExtraVersion].
	Extra map[string]any `json:"extra,omitempty"`

	encoded json.RawMessage // set by Encoded
}

// Encoded returns a copy of r that holds its own JSON, which [Facilitator] then sends
// instead of encoding r for each call. The copy must not be changed. It returns an error
// if r cannot be encoded.
func (r Requirements) Encoded() (Requirements, error) {
	var err error
	r.encoded, err = json.Marshal(r)
	return r, err
}

// Encoded returns a copy of r that holds its own JSON; see [Requirements.Encoded].
func (r RequirementsV1) Encoded() (RequirementsV1, error) {
	var err error
	r.encoded, err = json.Marshal(r)
	return r, err
}

// Keys of Extra.
const (
	ExtraName        = "name"        // name of the token's EIP-712 domain
	ExtraVersion     = "version"     // version of the token's EIP-712 domain
	ExtraPaymentFlow = "paymentFlow" // order of settling and serving; see FlowUpfront
)

// FlowUpfront is the payment flow of a server that settles before it serves. By default
// x402 servers verify, serve and then settle.
const FlowUpfront = "upfront"

// Equal reports whether two requirements ask for the same payment. Addresses are compared
// without case, and Extra member by member.
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
		return 0, nil, malformed(o.at("extra"), "of the wrong form")
	}
	extra = make(map[string]any, inner.value.Len())
	for member := range inner.value.Children() {
		text, ok := member.Str()
		if !ok {
			return timeout, extra, o.decode("extra", &extra) // package json reads other types
		}
		extra[member.Name()] = text
	}
	return timeout, extra, nil
}
