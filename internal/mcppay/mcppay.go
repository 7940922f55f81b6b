// Package mcppay converts between the headers by which HTTP requests are paid and the members
// of _meta by which calls of tools are paid: those of x402's MCP transport, those of the Payment
// scheme, and the service's own.
package mcppay

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/paywarrant/paywarrant/mpp"
)

// Members of _meta.
const (
	X402Payment  = "x402/payment"                     // request: a PaymentPayload
	X402Response = "x402/payment-response"            // result: a SettlementResponse
	Credential   = "org.paymentauth/credential"       //nolint:gosec // request: a credential of the Payment scheme
	Receipt      = "org.paymentauth/receipt"          // result: a receipt of the Payment scheme
	Required     = "org.paymentauth/payment-required" // result: challenges of the Payment scheme
	Mandate      = "service/mandate"                  // request: a mandate or a presentation of it
	Bundle       = "service/bundle-token"             // request: the token of a bundle
	Key          = "service/idempotency-key"          // request and result: the key of a payment by mandate
	Offer        = "service/payment-required"         // result: the body of the 402 response
	Refusal      = "service/payment-refusal"          // result: why a call with a payment was not served
	Wait         = "service/retry-after"              // result: seconds to wait before the next try
	Credits      = "service/bundle-credits-remaining" // result: what a bundle has left
)

// CodeRequired is the JSON-RPC error code of the Payment scheme for a call without payment.
const CodeRequired = -32042

// CodeRefused is that for a call whose payment was refused.
const CodeRefused = -32043

// MethodCall is the method of a call.
const MethodCall = "tools/call"

// The headers, in their canonical form.
const (
	headerX402Payment = "Payment-Signature"
	headerX402V1      = "X-Payment"
	headerResponse    = "Payment-Response"
	headerResponseV1  = "X-Payment-Response"
	headerReceipt     = "Payment-Receipt"
	headerRequired    = "Payment-Required"
	headerMandate     = "X-Service-Mandate"
	headerBundle      = "X-Bundle-Token"
	headerCredits     = "X-Bundle-Credits-Remaining"
	headerKey         = "Idempotency-Key"
	headerRetry       = "Retry-After"
)

// plain are the members that are texts, by their headers.
var plain = map[string]string{headerMandate: Mandate, headerBundle: Bundle, headerKey: Key}

// reported are the members of results that are texts, by their headers.
var reported = map[string]string{headerKey: Key, headerRetry: Wait, headerCredits: Credits}

// WithoutCredentials returns a copy of _meta without credentials.
func WithoutCredentials(meta map[string]any) map[string]any {
	out := make(map[string]any, len(meta))
	for name, value := range meta {
		switch name {
		case X402Payment, Credential, Mandate, Bundle, Key:
		default:
			out[name] = value
		}
	}
	return out
}

// RequestHeader returns the headers of a request that is paid as _meta says. The error names
// the member that cannot be read.
func RequestHeader(meta map[string]any) (http.Header, error) {
	h := http.Header{}
	for header, member := range plain {
		switch value := meta[member].(type) {
		case nil:
		case string:
			if !printable(value) {
				return nil, fmt.Errorf("_meta[%q] has characters that no credential has", member)
			}
			h.Set(header, value)
		default:
			return nil, fmt.Errorf("_meta[%q] must be a string", member)
		}
	}
	if payment, ok := meta[X402Payment]; ok {
		object, ok := payment.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("_meta[%q] must be an object", X402Payment)
		}
		data, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("_meta[%q]: %w", X402Payment, err)
		}
		name := headerX402Payment
		if version, _ := object["x402Version"].(float64); version == 1 {
			name = headerX402V1
		}
		h.Set(name, base64.StdEncoding.EncodeToString(data))
	}
	if credential, ok := meta[Credential]; ok {
		value, err := credentialHeader(credential)
		if err != nil {
			return nil, fmt.Errorf("_meta[%q]: %w", Credential, err)
		}
		h.Set(mpp.HeaderCredential, value)
	}
	return h, nil
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// RequestMeta returns the members for the credentials in the headers of a request.
func RequestMeta(h http.Header) (map[string]any, error) {
	meta := map[string]any{}
	for header, member := range plain {
		if value := h.Get(header); value != "" {
			meta[member] = value
		}
	}
	for _, name := range [...]string{headerX402Payment, headerX402V1} {
		value := h.Get(name)
		if value == "" {
			continue
		}
		object, err := decoded(base64.StdEncoding, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		meta[X402Payment] = object
	}
	switch paid, err := mpp.CredentialFrom(h); {
	case errors.Is(err, mpp.ErrNoCredential):
	case err != nil:
		return nil, err
	default:
		if meta[Credential], err = credentialObject(paid); err != nil {
			return nil, err
		}
	}
	return meta, nil
}

// ResponseMeta returns the members for the headers of a response: what was paid, or how to pay.
// body is what the gate answered, or nil if it let the call through.
func ResponseMeta(h http.Header, status int, body json.RawMessage) map[string]any {
	meta := map[string]any{}
	for header, member := range reported {
		if value := h.Get(header); value != "" {
			meta[member] = value
		}
	}
	for _, name := range [...]string{headerResponse, headerResponseV1} {
		if object, err := decoded(base64.StdEncoding, h.Get(name)); err == nil {
			meta[X402Response] = object
		}
	}
	if object, err := decoded(base64.RawURLEncoding, h.Get(headerReceipt)); err == nil {
		meta[Receipt] = object
	}
	if status != http.StatusPaymentRequired {
		if body != nil {
			meta[Refusal] = RefusalOf(status, body)
		}
		return meta
	}
	if all := challenges(h); len(all) > 0 {
		meta[Required] = map[string]any{"httpStatus": status, "challenges": all}
	}
	meta[Offer] = body
	return meta
}

// PaymentRequired returns x402's PaymentRequired of a 402, or nil.
func PaymentRequired(h http.Header) json.RawMessage {
	data, err := base64.StdEncoding.DecodeString(h.Get(headerRequired))
	if err != nil || !json.Valid(data) {
		return nil
	}
	return data
}

func decoded(encoding *base64.Encoding, value string) (object map[string]any, err error) {
	data, err := encoding.DecodeString(strings.TrimRight(value, "="))
	if err != nil {
		data, err = encoding.DecodeString(value)
	}
	if err == nil {
		err = json.Unmarshal(data, &object)
	}
	return object, err
}

// ResponseHeader returns the headers for the members of a result.
func ResponseHeader(meta map[string]any) http.Header {
	h := http.Header{}
	for header, member := range reported {
		if value, ok := meta[member].(string); ok && printable(value) {
			h.Set(header, value)
		}
	}
	if object, ok := meta[X402Response].(map[string]any); ok {
		if data, err := json.Marshal(object); err == nil {
			h.Set(headerResponse, base64.StdEncoding.EncodeToString(data))
		}
	}
	if object, ok := meta[Receipt].(map[string]any); ok {
		if data, err := json.Marshal(object); err == nil {
			h.Set(headerReceipt, base64.RawURLEncoding.EncodeToString(data))
		}
	}
	return h
}

// SetPaymentRequired sets the header of x402's PaymentRequired, in JSON.
func SetPaymentRequired(h http.Header, data json.RawMessage) {
	h.Set(headerRequired, base64.StdEncoding.EncodeToString(data))
}

// IsPaymentError reports whether an error code is one of the Payment scheme: a payment is
// required, or was refused.
func IsPaymentError(code int64) bool { return code == CodeRequired || code == CodeRefused }
