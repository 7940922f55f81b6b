package x402

import (
	"encoding/json"
	"math"
	"time"
)

// Authorization is an EIP-3009 transfer authorization. Numbers are decimal strings.
type Authorization struct {
	// From is the payer's address.
	From string `json:"from"`
	// To is the payee's address.
	To string `json:"to"`
	// Value is the amount in base units.
	Value string `json:"value"`
	// ValidAfter is the start of the validity window in Unix seconds, exclusive.
	ValidAfter string `json:"validAfter"`
	// ValidBefore is the end of the validity window in Unix seconds, exclusive.
	ValidBefore string `json:"validBefore"`
	// Nonce is 32 bytes, "0x" and hexadecimal. The token accepts each nonce of a payer
	// once.
	Nonce string `json:"nonce"`
}

// Exact is the payload of the exact scheme on EVM chains.
type Exact struct {
	// Signature is the payer's signature, "0x" and hexadecimal: 65 bytes, or the longer
	// one of a contract wallet.
	Signature string `json:"signature"`
	// Authorization is what was signed.
	Authorization Authorization `json:"authorization"`
}

// Payload is a payment of version 2: the PAYMENT-SIGNATURE header.
type Payload struct {
	// X402Version is [Version2].
	X402Version int `json:"x402Version"`
	// Resource is what is paid for. Optional.
	Resource *Resource `json:"resource,omitempty"`
	// Accepted is the entry of [PaymentRequired].Accepts that is paid.
	Accepted Requirements `json:"accepted"`
	// Payload is the signed transfer of the scheme exact.
	Payload Exact `json:"payload"`
	// Upto is the signed permit of the scheme upto, in place of Payload. Only
	// [DecodePayload] sets it.
	Upto *Upto `json:"-"`
	// Extensions echo those of the challenge, with what the client adds.
	Extensions map[string]Extension `json:"extensions,omitempty"`
	// Raw is the payload as it was received, to pass on to a facilitator. Only
	// [DecodePayload] sets it.
	Raw json.RawMessage `json:"-"`
}

// PayloadV1 is a payment of version 1: the X-PAYMENT header.
type PayloadV1 struct {
	// X402Version is [Version1].
	X402Version int `json:"x402Version"`
	// Scheme is the payment scheme: [SchemeExact].
	Scheme string `json:"scheme"`
	// Network is the v1 name of the network.
	Network string `json:"network"`
	// Payload is the signed transfer.
	Payload Exact `json:"payload"`
	// Raw is the payload as it was received, to pass on to a facilitator. Only
	// [DecodePayloadV1] sets it.
	Raw json.RawMessage `json:"-"`
}

// maxSignature is the longest signature that is accepted, in characters. Signatures of
// contract wallets (ERC-6492) carry calldata.
const maxSignature = 12 << 10

// DecodePayload decodes a PAYMENT-SIGNATURE header. It returns a [*DecodeError] if the
// header is longer than [MaxPaymentHeader], is not base64 of strict JSON, is of another
// version, or lacks a field.
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
	if p.Accepted.Scheme == SchemeUpto {
		u, err := decodeUpto(o)
		if err != nil {
			return p, err
		}
		p.Upto = &u
	} else if p.Payload, err = decodeExact(o); err != nil {
		return p, err
	}
	if p.Extensions, err = decodeExtensions(o); err != nil {
		return p, err
	}
	p.Raw = o.raw
	return p, nil
}

// DecodePayloadV1 decodes an X-PAYMENT header. Its errors are those of [DecodePayload].
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

// ValidBeforeTime returns the end of the validity window, clamped to the latest
// representable time.
func (a Authorization) ValidBeforeTime() time.Time { return unix(a.ValidBefore) }

// CheckWindow returns "" if now is inside the validity window, or else
// [ReasonValidAfter] or [ReasonValidBefore].
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

// Validate returns a [*DecodeError] that names the field if the payload is malformed.
// Decoded payloads are already valid.
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
