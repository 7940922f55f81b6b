package x402

import (
	"encoding/json"
	"fmt"
)

// Types of [Method].
const (
	MethodMandate      = "mandate"
	MethodCreditBundle = "credit-bundle"
)

// Method is a way to pay beyond x402. It stands in the v1 body, and in the v2
// header as extension payment-methods ([MethodsInfo]).
type Method struct {
	Type string `json:"type"`
	// Of [MethodMandate]: the header to send the mandate in, the price in base
	// units, and the service that settles it.
	Header   string `json:"header,omitempty"`
	Amount   string `json:"amount,omitempty"`
	Currency string `json:"currency,omitempty"`
	APIURL   string `json:"apiUrl,omitempty"`
	// Of [MethodCreditBundle].
	PurchaseURL string `json:"purchaseUrl,omitempty"`
	BalanceURL  string `json:"balanceUrl,omitempty"`
	Tiers       []Tier `json:"tiers,omitempty"`
}

// Tier is one size of credit bundle.
type Tier struct {
	Name string `json:"name"`
	// USDCents is the price, in US cents.
	USDCents int64 `json:"usdCents"`
	// Requests is how many calls it buys.
	Requests int64 `json:"requests"`
}

// MethodsInfo is the info of the extension payment-methods. The extension repeats
// the paymentMethods of the v1 body in the PAYMENT-REQUIRED header, for answers
// without a JSON body: pages, and answers to HEAD. On the wire:
//
//	"extensions":{"payment-methods":{
//		"info":{"methods":[{"type":"mandate","header":"X-Service-Mandate","amount":"10000","currency":"usdc","apiUrl":"https://pay.example"}]},
//		"schema":{…}}}
//
// It is our own extension: other clients ignore it, and echo it as they do all.
type MethodsInfo struct {
	Methods []Method `json:"methods"`
}

// maxMethods is how many methods are read from one challenge.
const maxMethods = 32

const methodsSchema = `{"$schema":"` + schemaDialect + `","type":"object","properties":{"methods":{"type":"array",` +
	`"items":{"type":"object","properties":{"type":{"type":"string"}},"required":["type"]}}},"required":["methods"]}`

// MethodsExtension returns the extension payment-methods. The error is that of
// package json.
func MethodsExtension(methods []Method) (Extension, error) {
	info, err := json.Marshal(MethodsInfo{Methods: methods})
	if err != nil {
		return Extension{}, fmt.Errorf("encode payment methods: %w", err)
	}
	return Extension{Info: info, Schema: json.RawMessage(methodsSchema)}, nil
}

// Methods returns the ways to pay beyond x402 that the extension payment-methods
// lists; none if the challenge does not have it. It returns a [*DecodeError] if the
// extension is malformed or lists more than 32.
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
