package client

import (
	"context"
	"net/http"
	"time"
)

// CheckoutStatus is the state of a checkout.
type CheckoutStatus string

// The states of a checkout. Only open and pending checkouts change.
const (
	CheckoutOpen    CheckoutStatus = "open"
	CheckoutPending CheckoutStatus = "pending"
	CheckoutPaid    CheckoutStatus = "paid"
	CheckoutFailed  CheckoutStatus = "failed"
	CheckoutExpired CheckoutStatus = "expired"
)

// CheckoutParams are the parameters of [Client.CreateCheckout].
type CheckoutParams struct {
	// AmountCents is the amount in US cents: 1 to 10,000,000. Required.
	AmountCents int64 `json:"amountCents"`
	// Description names what is paid for, and appears on the page: 1 to 500 characters.
	// Required.
	Description string `json:"description"`
	// ReturnURL is the page to return to afterwards. A visit to it proves nothing: read
	// the checkout. Default: the person stays on the page.
	ReturnURL string `json:"returnUrl,omitempty"`
	// IdempotencyKey identifies the checkout: a repeated call with the same key returns
	// the same checkout. Default: a random key.
	IdempotencyKey string `json:"idempotencyKey"`
}

// Checkout is a page on which a person makes one payment.
type Checkout struct {
	// ID is the checkout's id (chk_…).
	ID string `json:"id"`
	// URL is the page to send the person to.
	URL string `json:"url"`
	// Status is open, pending, paid, failed or expired.
	Status CheckoutStatus `json:"status"`
	// AmountCents is the amount in US cents.
	AmountCents int64 `json:"amountCents"`
	// Description names what is paid for.
	Description string `json:"description"`
	// TransactionID is the id of the charge (txn_…). It is empty until there is one.
	TransactionID string `json:"transactionId,omitempty"`
	// FailureReason is set if Status is failed. It is reversed if the checkout was paid and
	// the rail took the payment back, and refunded if the payee gave all of it back.
	FailureReason string `json:"failureReason,omitempty"`
	// CreatedAt is when the checkout was created.
	CreatedAt time.Time `json:"createdAt"`
	// ExpiresAt is when an open checkout expires.
	ExpiresAt time.Time `json:"expiresAt"`
}

// CreateCheckout creates a page on which a person pays once, by card or wallet:
// POST /v1/checkouts. Send the person to its URL. Read the result with
// [Client.Checkout], for example after the payment.succeeded event. A call with the
// same key returns the same checkout in its current state.
//
// Errors: [ErrValidation], [ErrIdempotencyMismatch], [ErrMerchantInactive],
// [ErrMerchantLimit], and those that every call may return (see the package comment).
func (c *Client) CreateCheckout(ctx context.Context, p CheckoutParams) (Checkout, error) {
	if p.IdempotencyKey == "" {
		p.IdempotencyKey = newKey()
	}
	return do(ctx, c, call{
		doing: "create checkout", method: http.MethodPost, pattern: "/v1/checkouts", body: p, idempotent: true,
	}, func(k *Checkout, _ answer) bool { return k.ID != "" && k.URL != "" && k.Status != "" })
}

// Checkout returns a checkout of this merchant: GET /v1/checkouts/{checkoutId}.
// Checkouts are kept for 30 days.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) Checkout(ctx context.Context, id string) (Checkout, error) {
	return do(ctx, c, call{
		doing: "read checkout", method: http.MethodGet, idempotent: true, pattern: "/v1/checkouts/{checkoutId}", value: id,
	}, func(k *Checkout, _ answer) bool { return k.ID != "" && k.Status != "" })
}
