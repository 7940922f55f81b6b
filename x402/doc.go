// Package x402 reads and writes the x402 payment protocol, versions 1 and 2,
// schemes "exact" (EIP-3009) and "upto" (Permit2) on EVM chains, in both directions, and
// calls facilitators.
//
// A server asks for payment with a [PaymentRequired] (v2, the PAYMENT-REQUIRED
// header) or a [PaymentRequiredV1] (v1, the JSON body of the 402). A client pays with
// a [Payload] (PAYMENT-SIGNATURE) or a [PayloadV1] (X-PAYMENT). The server reports the
// outcome in a [Settlement] (PAYMENT-RESPONSE, X-PAYMENT-RESPONSE):
//
//	p, err := x402.DecodePayload(r.Header.Get(x402.HeaderPaymentSignature))
//	if err != nil {
//		// a *x402.DecodeError names the malformed field
//	}
//	f, err := x402.NewFacilitator(x402.FacilitatorConfig{URL: "https://x402.org/facilitator"})
//	s, err := f.Settle(ctx, x402.FacilitatorRequest{X402Version: 2, PaymentPayload: p.Raw, PaymentRequirements: offered})
//
// Formats: x402 specification v1 and v2 (sections 5 to 9), their HTTP
// transports, the schemes exact and upto on EVM, and the extensions bazaar and
// payment-identifier. Decoding is strict: it rejects duplicate names, names in another
// case, values of another type, trailing data and oversized input.
//
// The package does not check signatures and does not call a chain; package x402/evm
// does.
package x402

// Protocol versions.
const (
	Version1 = 1 // X-PAYMENT
	Version2 = 2 // PAYMENT-SIGNATURE
)

// Payment schemes.
const (
	// SchemeExact is a transfer of exactly the amount, by EIP-3009.
	SchemeExact = "exact"
	// SchemeUpto is a transfer of at most the amount, through Permit2: the server decides how
	// much after it has served. Only in version 2.
	SchemeUpto = "upto"
)

// Names of the headers of the HTTP transports.
const (
	HeaderPaymentRequired   = "PAYMENT-REQUIRED"    // v2, server: the challenge
	HeaderPaymentSignature  = "PAYMENT-SIGNATURE"   // v2, client: the payment
	HeaderPaymentResponse   = "PAYMENT-RESPONSE"    // v2, server: the outcome
	HeaderPayment           = "X-PAYMENT"           // v1, client: the payment
	HeaderPaymentResponseV1 = "X-PAYMENT-RESPONSE"  // v1, server: the outcome
	HeaderExtensionResponse = "EXTENSION-RESPONSES" // v2, facilitator: the result of each extension
	HeaderPaymentSource     = "X-Payment-Source"    // server, to a facilitator: the protocol, if it is not x402
)

// Limits on decoded input.
const (
	// MaxPaymentHeader is the longest payment header that is decoded, in bytes.
	MaxPaymentHeader = 16 << 10
	// MaxRequiredSize is the largest PaymentRequired that is decoded, header or body, in bytes.
	MaxRequiredSize = 64 << 10
	// MaxSettlementHeader is the longest settlement header that is decoded, in bytes.
	MaxSettlementHeader = 8 << 10
)
