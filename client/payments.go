package client

import (
	"context"
	"crypto/rand"
	"net/http"
)

// Charge takes an amount from a mandate: POST /v1/payments/charge. No error does
// not mean that money has moved: look at [Charge].Status, which may be [Pending]
// (a webhook will tell) or [Failed] (FailureReason says why).
//
// Without an IdempotencyKey the call makes a random one and keeps it over its
// retries. Give one that you have stored with the order, and a crash of your own
// program between charge and answer can be made good: the same call again answers
// what the first one did, with [Charge].Replayed set.
//
// Look for [ErrUnknownOutcome] first: the money may have moved, and
// [UnknownOutcomeError].IdempotencyKey finds out. After every other error this call has taken nothing.
//
// Errors: [ErrUnknownOutcome]; refusals [ErrPerTxLimit], [ErrMonthlyLimit],
// [ErrMerchantLimit], [ErrRailUnavailable], [ErrMerchantInactive],
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
	}, func(ch *Charge, a answer) bool {
		ch.Replayed = a.header.Get("Idempotency-Replayed") == "true"
		return ch.TransactionID != "" && ch.Status != ""
	})
}

// newKey makes an idempotency key that nobody else will: over 128 random bits.
func newKey() string { return rand.Text() }

// Receipt reads one charge as its payee may show it:
// GET /v1/payments/{transactionId}/receipt.
//
// Errors: [ErrNotFound], also where it is another merchant's, [ErrValidation], and
// those that every call may return (see the package comment).
func (c *Client) Receipt(ctx context.Context, transactionID string) (Receipt, error) {
	return do(ctx, c, call{
		doing: "read receipt", method: http.MethodGet, idempotent: true,
		pattern: "/v1/payments/{transactionId}/receipt", value: transactionID,
	}, func(r *Receipt, _ answer) bool { return r.ID != "" && r.Status != "" })
}
