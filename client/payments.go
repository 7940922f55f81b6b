package client

import (
	"context"
	"crypto/rand"
	"net/http"
)

// Charge takes an amount from a mandate: POST /v1/payments/charge. A nil error does
// not mean that money has moved. Check [Charge].Status: [Status.Paid] reports success,
// [Pending] is followed by a webhook event, and [Failed] comes with a FailureReason.
//
// Without an IdempotencyKey the call uses a random one for all its retries. To survive
// a crash of your program between the charge and its result, store a key of your own
// with the order first: repeating the call then returns the result of the first one,
// with [Charge].Replayed set.
//
// Check for [ErrUnknownOutcome] before other errors: the money may have moved, and a
// call with [UnknownOutcomeError].IdempotencyKey returns the outcome. After any other
// error the call has taken nothing.
//
// Errors: [ErrUnknownOutcome]; refusals [ErrPerTxLimit], [ErrDailyLimit], [ErrMonthlyLimit],
// [ErrTotalLimit], [ErrVelocityLimit], [ErrPayeeLimit], [ErrMerchantLimit], [ErrRailUnavailable], [ErrMerchantInactive],
// [ErrMandateInvalid], [ErrMandateRevoked], [ErrMandateExpired],
// [ErrMerchantNotAllowed], [ErrIdempotencyMismatch], [ErrValidation]; and those
// that every call may return (see the package comment).
func (c *Client) Charge(ctx context.Context, p ChargeParams) (Charge, error) {
	if p.IdempotencyKey == "" {
		p.IdempotencyKey = newKey()
	}
	return do(ctx, c, call{
		doing: "charge mandate", method: http.MethodPost, pattern: "/v1/payments/charge",
		body: p, secrets: []string{p.Mandate}, idempotent: true, key: p.IdempotencyKey,
	}, wholeCharge)
}

// newKey returns an idempotency key of more than 128 random bits.
func newKey() string { return rand.Text() }

// Receipt returns one charge in the form that its payee may show to others:
// GET /v1/payments/{transactionId}/receipt.
//
// Errors: [ErrNotFound], also for a charge of another merchant, [ErrValidation], and
// those that every call may return (see the package comment).
func (c *Client) Receipt(ctx context.Context, transactionID string) (Receipt, error) {
	return do(ctx, c, call{
		doing: "read receipt", method: http.MethodGet, idempotent: true,
		pattern: "/v1/payments/{transactionId}/receipt", value: transactionID,
	}, func(r *Receipt, _ answer) bool { return r.ID != "" && r.Status != "" })
}
