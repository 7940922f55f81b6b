package paywall

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/client"
)

// Credential is a kind of payment credential.
type Credential string

// The credentials, and the headers that carry them.
const (
	CredentialBundle  Credential = "bundle"  // X-Bundle-Token
	CredentialX402    Credential = "x402"    // PAYMENT-SIGNATURE
	CredentialX402V1  Credential = "x402-v1" // X-PAYMENT
	CredentialMandate Credential = "mandate" // X-Service-Mandate
	CredentialMPP     Credential = "mpp"     // Authorization: Payment
)

// Header names, in addition to those of packages x402 and mpp.
const (
	// HeaderBundleToken carries the token of a credit bundle.
	HeaderBundleToken = "X-Bundle-Token" //nolint:gosec // the name of a header
	// HeaderMandate carries a mandate or a presentation of one.
	HeaderMandate = "X-Service-Mandate"
	// HeaderCreditsRemaining reports the remaining credits of a bundle.
	HeaderCreditsRemaining = "X-Bundle-Credits-Remaining"
	// HeaderIdempotencyKey makes a request with a bare mandate repeatable.
	HeaderIdempotencyKey = "Idempotency-Key"
	// HeaderRequestID identifies a request in responses and logs.
	HeaderRequestID = "X-Request-Id"
)

// Payment is what a request was paid with.
type Payment struct {
	// Credential is the kind of credential.
	Credential Credential `json:"credential"`
	// Scheme is how the money moves: "exact", "upto", "mandate" or "bundle".
	Scheme string `json:"scheme"`
	// Payer is the wallet that paid, or the id of a mandate that paid by card. Empty for a
	// bundle.
	Payer string `json:"payer,omitempty"`
	// Transaction is the transaction hash, or the card processor's payment id. Empty for a
	// bundle.
	Transaction string `json:"transaction,omitempty"`
	// Network is the name of the chain in the credential's protocol, or "card". Empty for a
	// bundle.
	Network string `json:"network,omitempty"`
	// AmountMicros is the amount in micro-dollars: the price, or more if a payer of x402
	// version 1 paid more. Zero for a bundle, and while a metered price is held.
	AmountMicros int64 `json:"amountMicros,omitzero"`
	// AuthorizedMicros is the price that a mandate holds for a metered request, or that a wallet
	// signed by the scheme upto, in micro-dollars: the most that the request can cost; see
	// [Route.Metered].
	AuthorizedMicros int64 `json:"authorizedMicros,omitzero"`
	// AuthorizedUntil is when the hold ends.
	AuthorizedUntil time.Time `json:"authorizedUntil,omitzero"`
	// MeteredMicros is what the handler metered, for [Config.OnPaid].
	MeteredMicros int64 `json:"meteredMicros,omitzero"`
	// Usage is the unit that the handler metered, for [Config.OnPaid]. Nil if there was none.
	Usage *client.Usage `json:"usage,omitempty"`
	// TransactionID is the service's id of a payment by mandate (txn_…).
	TransactionID string `json:"transactionId,omitempty"`
	// TenantID is the merchant's own name for the owner of a bundle.
	TenantID string `json:"tenantId,omitempty"`
	// CreditsRemaining is the number of credits that are left of a bundle.
	CreditsRemaining int64 `json:"creditsRemaining,omitzero"`
	// Interrupted is the number of earlier requests with this payment that were interrupted:
	// the client disconnected before the response or requested no content, as with HEAD. The
	// gate stores it in [Redemptions] to limit such requests.
	Interrupted int `json:"interrupted,omitzero"`
	// Decided reports that the handler of a metered request has ended. The gate stores it in
	// [Redemptions], so that the payment is not served again.
	Decided bool `json:"decided,omitzero"`
	// Refunding reports that the payment is given back; see [Config.RefundUnserved]. The gate
	// stores it like Decided.
	Refunding bool `json:"refunding,omitzero"`
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

// Decline marks a request as not served, whatever the status of the response. The payment
// stays unfulfilled, and the same credential is accepted again without a second settlement.
// Decline has no effect on a request that was not paid.
func Decline(ctx context.Context) {
	if d, ok := ctx.Value(deliveryKey{}).(*delivery); ok {
		d.declined.Store(true)
	}
}
