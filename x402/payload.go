package x402

import (
	"encoding/json"
	"math"
	"time"
)

// Authorization is an EIP-3009 transfer authorization, every number a decimal string.
type Authorization struct {
	From        string `json:"from"`
	To          string `json:"to"`
	Value       string `json:"value"`       // base units
	ValidAfter  string `json:"validAfter"`  // Unix seconds, exclusive
	ValidBefore string `json:"validBefore"` // Unix seconds, exclusive
	Nonce       string `json:"nonce"`       // 32 bytes
}

// Exact is the payload of the exact scheme on EVM.
type Exact struct {
	Signature     string        `json:"signature"`
	Authorization Authorization `json:"authorization"`
}

// Payload is v2's payment: the PAYMENT-SIGNATURE header.
type Payload struct {
	X402Version int                  `json:"x402Version"`
	Resource    *Resource            `json:"resource,omitempty"`
	Accepted    Requirements         `json:"accepted"`
	Payload     Exact                `json:"payload"`
	Extensions  map[string]Extension `json:"extensions,omitempty"`
	// Raw is the whole payload as it was received; a facilitator gets this. Only
	// from [DecodePayload].
	Raw json.RawMessage `json:"-"`
}

// PayloadV1 is v1's payment: the X-PAYMENT header.
type PayloadV1 struct {
	X402Version int    `json:"x402Version"`
	Scheme      string `json:"scheme"`
	Network     string `json:"network"`
	Payload     Exact  `json:"payload"`
	// Raw is the whole payload as it was received. Only from [DecodePayloadV1].
	Raw json.RawMessage `json:"-"`
}

// maxSignature is the longest signature read, in characters: those of contract
// wallets (ERC-6492) carry calldata.
const maxSignature = 12 << 10

// DecodePayload reads a PAYMENT-SIGNATURE header. A [*DecodeError] where it is
// over [MaxPaymentHeader], not base64, not strict JSON, of another version, or
// lacks a field.
func DecodePayload(header string) (p Payload, err error) {
	o, err := decodeHeader(header, MaxPaymentHeader)
	if err != nil {
		return p, err
	}
	if err := o.version(Version2); err != nil {
		return p, err
	}
	p.X402Version = Version2
	if o.has("resource") {
		inner, err := o.object("resource")
		if err != nil {
			return p, err
		}
		r, err := decodeResource(inner)
		if err != nil {
			return p, err
		}
		p.Resource = &r
	}
	accepted, err := o.object("accepted")
	if err != nil {
		return p, err
	}
	if p.Accepted, err = decodeRequirements(accepted); err != nil {
		return p, err
	}
	if p.Payload, err = decodeExact(o); err != nil {
		return p, err
	}
	if p.Extensions, err = decodeExtensions(o); err != nil {
		return p, err
	}
	p.Raw = o.raw
	return p, nil
}

// DecodePayloadV1 reads an X-PAYMENT header. A [*DecodeError] as [DecodePayload].
func DecodePayloadV1(header string) (p PayloadV1, err error) {
	o, err := decodeHeader(header, MaxPaymentHeader)
	if err != nil {
		return p, err
	}
	if err := o.version(Version1); err != nil {
		return p, err
	}
	p.X402Version = Version1
	if p.Scheme, err = o.text("scheme"); err != nil {
		return p, err
	}
	if p.Network, err = o.text("network"); err != nil {
		return p, err
	}
	if p.Payload, err = decodeExact(o); err != nil {
		return p, err
	}
	p.Raw = o.raw
	return p, nil
}

func decodeExact(o *object) (e Exact, err error) {
	inner, err := o.object("payload")
	if err != nil {
		return e, err
	}
	if e.Signature, err = inner.text("signature"); err != nil {
		return e, err
	}
	if err := checkSignature(e.Signature, inner.at("signature")); err != nil {
		return e, err
	}
	a, err := inner.object("authorization")
	if err != nil {
		return e, err
	}
	e.Authorization, err = decodeAuthorization(a)
	return e, err
}

func checkSignature(s, field string) error {
	if len(s) < 4 || len(s) > maxSignature || s[:2] != "0x" || len(s)%2 != 0 || !hexDigits(s[2:]) {
		return malformed(field, "not hexadecimal")
	}
	return nil
}

func decodeAuthorization(o *object) (a Authorization, err error) {
	for _, f := range a.fields() {
		if *f.value, err = o.text(f.name); err != nil {
			return a, err
		}
		if !f.valid(*f.value) {
			return a, malformed(o.at(f.name), "not %s", f.want)
		}
	}
	return a, nil
}

type authorizationField struct {
	name  string
	value *string
	valid func(string) bool
	want  string
}

func (a *Authorization) fields() [6]authorizationField {
	return [6]authorizationField{
		{"from", &a.From, isAddress, "an address"},
		{"to", &a.To, isAddress, "an address"},
		{"value", &a.Value, IsAmount, "an amount in base units"},
		{"validAfter", &a.ValidAfter, IsAmount, "a time in seconds"},
		{"validBefore", &a.ValidBefore, IsAmount, "a time in seconds"},
		{"nonce", &a.Nonce, IsTransactionHash, "32 bytes in hexadecimal"},
	}
}

func isAddress(s string) bool { return isHex(s, 20) }

// ValidBeforeTime is the end of the window; one beyond the calendar is its end.
func (a Authorization) ValidBeforeTime() time.Time { return unix(a.ValidBefore) }

// CheckWindow tells why the authorization cannot be used at now: [ReasonValidAfter],
// [ReasonValidBefore], or "" where it can.
func (a Authorization) CheckWindow(now time.Time) Reason {
	switch {
	case !now.After(unix(a.ValidAfter)):
		return ReasonValidAfter
	case !now.Before(unix(a.ValidBefore)):
		return ReasonValidBefore
	}
	return ""
}

func unix(s string) time.Time {
	const lastSecond = math.MaxInt64 >> 16 // far beyond any calendar, and safe to compare
	return time.Unix(min(seconds(s), lastSecond), 0)
}

// Validate tells whether the payload is well-formed, for one that was not
// decoded from a header. A [*DecodeError] names the field.
func (e Exact) Validate() error {
	if err := checkSignature(e.Signature, "signature"); err != nil {
		return err
	}
	for _, f := range e.Authorization.fields() {
		if !f.valid(*f.value) {
			return malformed("authorization."+f.name, "not %s", f.want)
		}
	}
	return nil
}
