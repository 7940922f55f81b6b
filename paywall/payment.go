package paywall

import "context"

// Credential is a kind of credential.
type Credential string

// The credentials, by the header they come in.
const (
	Bundle  Credential = "bundle"  // X-Bundle-Token
	X402    Credential = "x402"    // PAYMENT-SIGNATURE
	X402V1  Credential = "x402-v1" // X-PAYMENT
	Mandate Credential = "mandate" // X-Service-Mandate
	MPP     Credential = "mpp"     // Authorization: Payment
)

// Names of the headers that are not in packages x402 and mpp.
const (
	HeaderBundleToken      = "X-Bundle-Token" //nolint:gosec // the name of a header
	HeaderMandate          = "X-Service-Mandate"
	HeaderCreditsRemaining = "X-Bundle-Credits-Remaining"
	HeaderIdempotencyKey   = "Idempotency-Key"
	HeaderRequestID        = "X-Request-Id"
)

// Payment is what a request was paid with.
type Payment struct {
	// Credential is the kind of credential.
	Credential Credential `json:"credential"`
	// Scheme is how the money moves: "exact", "mandate" or "bundle".
	Scheme string `json:"scheme"`
	// Payer is the wallet that paid, or the id of a mandate that paid by card;
	// empty for a bundle.
	Payer string `json:"payer,omitempty"`
	// Transaction is the hash on chain, or the card processor's payment id;
	// empty for a bundle.
	Transaction string `json:"transaction,omitempty"`
	// Network is the chain, by the name of the credential's protocol, or "card".
	Network string `json:"network,omitempty"`
	// AmountMicros is what was paid, in millionths of a US dollar: the price, or more
	// if a payer of x402 version 1 paid more. 0 for a bundle.
	AmountMicros int64 `json:"amountMicros,omitempty"`
	// TransactionID is the service's own id, of a mandate.
	TransactionID string `json:"transactionId,omitempty"`
	// TenantID and CreditsRemaining are of a bundle.
	TenantID         string `json:"tenantId,omitempty"`
	CreditsRemaining int64  `json:"creditsRemaining,omitempty"`
}

type deliveryKey struct{}

// PaymentFrom returns the payment of a request, from the context of the handler
// behind a gate. It reports false if the request was not paid.
func PaymentFrom(ctx context.Context) (Payment, bool) {
	d, ok := ctx.Value(deliveryKey{}).(*delivery)
	if !ok || d.payment == nil {
		return Payment{}, false
	}
	return *d.payment, true
}

// RequestIDFrom returns the X-Request-Id of a request, from the context of the
// handler behind a gate; "" if it came through no gate.
func RequestIDFrom(ctx context.Context) string {
	d, ok := ctx.Value(deliveryKey{}).(*delivery)
	if !ok {
		return ""
	}
	return d.requestID
}

// Decline reports that a handler does not give what was paid for, whatever its
// status: the payment stays unfulfilled, and the same credential sent again is let
// through without a second settlement. It has no effect on a request that was not
// paid.
func Decline(ctx context.Context) {
	if d, ok := ctx.Value(deliveryKey{}).(*delivery); ok {
		d.declined.Store(true)
	}
}
