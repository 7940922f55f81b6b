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
	// AmountMicros is the price in millionths of a US dollar; 0 for a bundle.
	AmountMicros int64 `json:"amountMicros,omitempty"`
	// TransactionID is the service's own id, of a mandate.
	TransactionID string `json:"transactionId,omitempty"`
	// TenantID and CreditsRemaining are of a bundle.
	TenantID         string `json:"tenantId,omitempty"`
	CreditsRemaining int64  `json:"creditsRemaining,omitempty"`
}

type paymentKey struct{}

// PaymentFrom is the payment of the request whose context it is; false where it
// came through no gate.
func PaymentFrom(ctx context.Context) (Payment, bool) {
	p, ok := ctx.Value(paymentKey{}).(*Payment)
	if !ok {
		return Payment{}, false
	}
	return *p, true
}

func withPayment(ctx context.Context, p *Payment) context.Context {
	return context.WithValue(ctx, paymentKey{}, p)
}
