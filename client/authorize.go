package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// AuthorizeParams are the parameters of [Client.Authorize]. Printed or logged, they hide the
// mandate.
type AuthorizeParams struct {
	ChargeParams

	// ExpiresInSeconds is the time after which the amount is given back unless it was
	// captured: 1 to 604800, and at most until the mandate expires. Default: 3600.
	ExpiresInSeconds int64 `json:"expiresInSeconds,omitzero"`
}

// Authorize holds an amount of a mandate: POST /v1/payments/authorize. [Client.Capture] charges
// what was used, up to the amount, and [Client.Void] gives it back. Otherwise the service gives it
// back after ExpiresInSeconds. Check [Charge].Status: [Authorized] reports that the amount is
// held, [Pending] is followed by a webhook event, and [Failed] comes with a FailureReason.
//
// A card's processor holds the amount. On the chain only the service does: a capture can
// still be refused there, and is refused once the mandate is revoked.
//
// Keys and errors are those of [Client.Charge]. A key for charges is independent of the same
// key for authorizations.
func (c *Client) Authorize(ctx context.Context, p AuthorizeParams) (Charge, error) {
	if p.IdempotencyKey == "" {
		p.IdempotencyKey = newKey()
	}
	return do(ctx, c, call{
		doing: "authorize payment", method: http.MethodPost, pattern: "/v1/payments/authorize",
		body: p, secrets: []string{p.Mandate}, idempotent: true, key: p.IdempotencyKey,
	}, wholeCharge)
}

// wholeCharge reports whether a charge result has the required fields, and sets Replayed.
func wholeCharge(ch *Charge, a answer) bool {
	ch.Replayed = a.header.Get("Idempotency-Replayed") == "true"
	return ch.TransactionID != "" && ch.Status != ""
}

// Usage describes what an amount is for. The receipt shows it.
type Usage struct {
	// Unit names what was counted, such as "token": 1 to 40 characters.
	Unit string `json:"unit"`
	// Quantity is how many units were used.
	Quantity int64 `json:"quantity"`
	// UnitPriceMicros is the price of one unit, in millionths of a US dollar.
	UnitPriceMicros int64 `json:"unitPriceMicros"`
}

// CaptureParams are the parameters of [Client.Capture].
type CaptureParams struct {
	// AmountCents is the amount in US cents: 0 up to the authorized amount. The rest is
	// given back. Zero voids the authorization.
	AmountCents int64 `json:"amountCents"`
	// AmountMicros is the amount in millionths of a US dollar, instead of AmountCents. A card
	// pays whole cents. Default: AmountCents decides.
	AmountMicros int64 `json:"amountMicros,omitzero"`
	// Usage describes the amount. Optional.
	Usage *Usage `json:"usage,omitempty"`
	// IdempotencyKey identifies the capture, as in [ChargeParams].
	IdempotencyKey string `json:"idempotencyKey"`
}

// MarshalJSON omits AmountCents if AmountMicros is set: a service of an earlier version, which
// does not know it, then refuses the capture instead of voiding the authorization.
func (p CaptureParams) MarshalJSON() ([]byte, error) {
	type plain CaptureParams
	if p.AmountMicros == 0 {
		return json.Marshal(plain(p))
	}
	return json.Marshal(struct {
		AmountCents *int64 `json:"amountCents,omitempty"` // hides that of plain
		plain
	}{plain: plain(p), AmountCents: nonzero(p.AmountCents)})
}

// nonzero returns nil for zero.
func nonzero(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// Capture charges what was used of an authorized amount, once, and gives back the rest:
// POST /v1/payments/{transactionId}/capture. Check [Charge].Status as after [Client.Charge];
// it is [Voided] after a capture of zero.
//
// Errors: [ErrUnknownOutcome], [ErrNotFound], [ErrAuthorizationEnded],
// [ErrIdempotencyInProgress], [ErrIdempotencyMismatch], [ErrValidation]; on the chain also
// [ErrMandateRevoked] and [ErrMandateExpired], after which the amount is given back; and those
// that every call may return (see the package comment).
func (c *Client) Capture(ctx context.Context, transactionID string, p CaptureParams) (Charge, error) {
	if p.IdempotencyKey == "" {
		p.IdempotencyKey = newKey()
	}
	return do(ctx, c, call{
		doing: "capture payment", method: http.MethodPost, pattern: "/v1/payments/{transactionId}/capture", value: transactionID,
		body: p, idempotent: true, key: p.IdempotencyKey,
	}, wholeCharge)
}

// Void gives back an authorized amount: POST /v1/payments/{transactionId}/void. Repeating it
// changes nothing.
//
// Errors: [ErrNotFound], [ErrAuthorizationEnded], and those that every call may return (see
// the package comment).
func (c *Client) Void(ctx context.Context, transactionID string) (Charge, error) {
	return do(ctx, c, call{
		doing: "void payment", method: http.MethodPost, pattern: "/v1/payments/{transactionId}/void", value: transactionID,
		body: struct{}{}, idempotent: true,
	}, wholeCharge)
}
