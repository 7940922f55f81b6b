package x402

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// Resource describes what is paid for, in version 2.
type Resource struct {
	// URL is the absolute URL of the resource.
	URL string `json:"url"`
	// Description is one sentence for people. Optional.
	Description string `json:"description,omitempty"`
	// MimeType is the media type of the resource. Optional.
	MimeType string `json:"mimeType,omitempty"`
}

// Extension is an entry of the extensions of version 2.
type Extension struct {
	// Info is the value of the extension.
	Info json.RawMessage `json:"info"`
	// Schema is the JSON Schema of Info.
	Schema json.RawMessage `json:"schema"`
	// RouteTemplate is the path of several resources that are one entry of a catalog, such as
	// "/users/:id". Only [ExtensionBazaar] has it. Default: the resource is an entry of its own.
	RouteTemplate string `json:"routeTemplate,omitempty"`
}

// PaymentRequired is a challenge of version 2: the PAYMENT-REQUIRED header.
type PaymentRequired struct {
	// X402Version is [Version2].
	X402Version int `json:"x402Version"`
	// Error is the [Reason] of a refusal, or a text.
	Error string `json:"error,omitempty"`
	// Resource is what is paid for.
	Resource Resource `json:"resource"`
	// Accepts lists the payments that are accepted; a client makes one of them.
	Accepts []Requirements `json:"accepts"`
	// Extensions are keyed by name, such as [ExtensionBazaar].
	Extensions map[string]Extension `json:"extensions,omitempty"`
}

// PaymentRequiredV1 is a challenge of version 1: the body of the 402.
type PaymentRequiredV1 struct {
	// X402Version is [Version1].
	X402Version int `json:"x402Version"`
	// Error is the [Reason] of a refusal, or a text.
	Error string `json:"error"`
	// Accepts lists the payments that are accepted; a client makes one of them.
	Accepts []RequirementsV1 `json:"accepts"`
	// PaymentMethods lists payment methods beyond x402. It is our own addition, which
	// other clients ignore.
	PaymentMethods []Method `json:"paymentMethods,omitempty"`
}

// maxAccepts is the largest number of entries in accepts.
const maxAccepts = 64

// EncodeHeader returns a value of this package as a header: standard base64 of its
// JSON. It returns an error if the value cannot be encoded.
func EncodeHeader(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode x402 header: %w", err)
	}
	return base64.StdEncoding.EncodeToString(data), nil
}

// decodeHeader reverses [EncodeHeader]. It checks the length itself, because package
// base64 skips line breaks even in strict mode.
func decodeHeader(value string, limit int) (*object, error) {
	if len(value) > limit {
		return nil, malformed("", "longer than %d bytes", limit)
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(value)))
	n, err := base64.StdEncoding.Strict().Decode(data, []byte(value))
	if err != nil || base64.StdEncoding.EncodedLen(n) != len(value) {
		return nil, malformed("", "not standard base64")
	}
	return parseObject(data[:n])
}

// DecodePaymentRequired decodes a PAYMENT-REQUIRED header. It returns a [*DecodeError]
// if the header is malformed.
func DecodePaymentRequired(header string) (p PaymentRequired, err error) {
	o, err := decodeHeader(header, MaxRequiredSize)
	if err != nil {
		return p, err
	}
	if err := o.version(Version2); err != nil {
		return p, err
	}
	p.X402Version = Version2
	if p.Error, err = o.optionalText("error"); err != nil {
		return p, err
	}
	resource, err := o.object("resource")
	if err != nil {
		return p, err
	}
	if p.Resource, err = decodeResource(resource); err != nil {
		return p, err
	}
	list, err := o.list("accepts", maxAccepts)
	if err != nil {
		return p, err
	}
	for _, entry := range list {
		r, err := decodeRequirements(entry)
		if err != nil {
			return p, err
		}
		p.Accepts = append(p.Accepts, r)
	}
	p.Extensions, err = decodeExtensions(o)
	return p, err
}

// DecodePaymentRequiredV1 decodes the body of a 402 of version 1. It returns a
// [*DecodeError] if the body is malformed.
func DecodePaymentRequiredV1(body []byte) (p PaymentRequiredV1, err error) {
	if len(body) > MaxRequiredSize {
		return p, malformed("", "longer than %d bytes", MaxRequiredSize)
	}
	o, err := parseObject(body)
	if err != nil {
		return p, err
	}
	if err := o.version(Version1); err != nil {
		return p, err
	}
	p.X402Version = Version1
	if p.Error, err = o.optionalText("error"); err != nil {
		return p, err
	}
	list, err := o.list("accepts", maxAccepts)
	if err != nil {
		return p, err
	}
	for _, entry := range list {
		r, err := decodeRequirementsV1(entry)
		if err != nil {
			return p, err
		}
		p.Accepts = append(p.Accepts, r)
	}
	return p, o.decode("paymentMethods", &p.PaymentMethods)
}

func decodeResource(o *object) (r Resource, err error) {
	if r.URL, err = o.text("url"); err != nil {
		return r, err
	}
	if r.Description, err = o.optionalText("description"); err != nil {
		return r, err
	}
	r.MimeType, err = o.optionalText("mimeType")
	return r, err
}

func decodeExtensions(o *object) (map[string]Extension, error) {
	if !o.has("extensions") {
		return nil, nil
	}
	all, err := o.object("extensions")
	if err != nil {
		return nil, err
	}
	var out map[string]Extension
	for member := range all.value.Children() {
		e, err := all.object(member.Name())
		if err != nil {
			return nil, err
		}
		if out == nil {
			out = make(map[string]Extension)
		}
		template, _ := e.optionalText("routeTemplate") // other extensions may have one of another kind
		out[member.Name()] = Extension{Info: e.json("info"), Schema: e.json("schema"), RouteTemplate: template}
	}
	return out, nil
}
