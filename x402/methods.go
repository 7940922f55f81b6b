package x402

import (
	"encoding/json"
	"fmt"
)

// Types of [Method].
const (
	MethodMandate      = "mandate"       // a mandate, sent in a header
	MethodCreditBundle = "credit-bundle" // prepaid requests
)

// Method is a payment method beyond x402. It is listed in the body of version 1, and in
// the header of version 2 as the extension payment-methods ([MethodsInfo]).
type Method struct {
	// Type is [MethodMandate], [MethodCreditBundle], or a type that clients may ignore.
	Type string `json:"type"`

	// Header is the request header that carries a mandate.
	Header string `json:"header,omitempty"`
	// Amount is the price that a mandate pays, in base units.
	Amount string `json:"amount,omitempty"`
	// Currency is the currency of Amount, such as "usdc".
	Currency string `json:"currency,omitempty"`
	// Metered reports that Amount is the most that a mandate pays: it pays what was used.
	Metered bool `json:"metered,omitzero"`
	// APIURL is the service that issues and settles mandates.
	APIURL string `json:"apiUrl,omitempty"`

	// PurchaseURL sells credit bundles.
	PurchaseURL string `json:"purchaseUrl,omitempty"`
	// BalanceURL reports the remaining credits of a bundle. May be empty.
	BalanceURL string `json:"balanceUrl,omitempty"`
	// Tiers are the credit bundles that are sold.
	Tiers []Tier `json:"tiers,omitempty"`
}

// Tier is one size of credit bundle.
type Tier struct {
	// Name identifies the tier.
	Name string `json:"name"`
	// USDCents is the price in US cents.
	USDCents int64 `json:"usdCents"`
	// Requests is the number of requests that it buys.
	Requests int64 `json:"requests"`
}

// MethodsInfo is the info of the extension payment-methods. It repeats the
// paymentMethods of the v1 body in the PAYMENT-REQUIRED header, for responses without a
// JSON body, such as pages and responses to HEAD:
//
//	"extensions":{"payment-methods":{
//		"info":{"methods":[{"type":"mandate","header":"X-Service-Mandate","amount":"10000","currency":"usdc","apiUrl":"https://pay.example"}]},
//		"schema":{…}}}
//
// It is our own extension. Other clients ignore it, and echo it like any other.
type MethodsInfo struct {
	// Methods are the payment methods.
	Methods []Method `json:"methods"`
}

// maxMethods is how many methods are read from one challenge.
const maxMethods = 32

const methodsSchema = `{"$schema":"` + schemaDialect + `","type":"object","properties":{"methods":{"type":"array",` +
	`"items":{"type":"object","properties":{"type":{"type":"string"}},"required":["type"]}}},"required":["methods"]}`

// MethodsExtension returns the extension payment-methods. It returns an error if the
// methods cannot be encoded.
func MethodsExtension(methods []Method) (Extension, error) {
	info, err := json.Marshal(MethodsInfo{Methods: methods})
	if err != nil {
		return Extension{}, fmt.Errorf("encode payment methods: %w", err)
	}
	return Extension{Info: info, Schema: json.RawMessage(methodsSchema)}, nil
}

// Methods returns the payment methods that the extension payment-methods lists, or nil
// if the challenge does not have the extension. It returns a [*DecodeError] if the
// extension is malformed or lists more than 32 methods.
func (p PaymentRequired) Methods() ([]Method, error) {
	e, ok := p.Extensions[ExtensionMethods]
	if !ok || len(e.Info) == 0 {
		return nil, nil
	}
	const path = "extensions." + ExtensionMethods + ".info"
	o, err := parseObject(e.Info)
	if err != nil {
		return nil, malformed(path, "not an object")
	}
	o.parent, o.name = &object{}, path
	if _, err := o.list("methods", maxMethods); err != nil {
		return nil, err
	}
	var out []Method
	return out, o.decode("methods", &out)
}
