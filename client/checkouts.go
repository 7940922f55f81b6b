package client

import (
	"context"
	"net/http"
	"time"
)

// CheckoutStatus is the state of a checkout.
type CheckoutStatus string

// The states. Only open and pending ones change.
const (
	CheckoutOpen    CheckoutStatus = "open"
	CheckoutPending CheckoutStatus = "pending"
	CheckoutPaid    CheckoutStatus = "paid"
	CheckoutFailed  CheckoutStatus = "failed"
	CheckoutExpired CheckoutStatus = "expired"
)

// CheckoutParams asks for a page where a person makes one payment.
type CheckoutParams struct {
	// AmountCents in US cents: 1 to 10,000,000.
	AmountCents int64 `json:"amountCents"`
	// Description is what is paid for, of 1 to 500 characters; the page shows it.
	Description string `json:"description"`
	// ReturnURL is where the page leads back to. It proves nothing: read the
	// checkout. Default: nowhere.
	ReturnURL string `json:"returnUrl,omitempty"`
	// IdempotencyKey makes a repeated request the same checkout. Default: a random one.
	IdempotencyKey string `json:"idempotencyKey"`
}

// Checkout is one payment by a person, on a page.
type Checkout struct {
	ID     string         `json:"id"`
	URL    string         `json:"url"`
	Status CheckoutStatus `json:"status"`
	// AmountCents in US cents.
	AmountCents int64  `json:"amountCents"`
	Description string `json:"description"`
	// TransactionID is the charge's, once there is one.
	TransactionID string `json:"transactionId,omitempty"`
	// FailureReason says why a failed one did.
	FailureReason string    `json:"failureReason,omitempty"`
	CreatedAt     time.Time `json:"createdAt"`
	// ExpiresAt ends an open one.
	ExpiresAt time.Time `json:"expiresAt"`
}

// CreateCheckout makes a page where a person pays once, by card or mandate:
// POST /v1/checkouts. Send the person to its URL, then read it with
// [Client.Checkout], also after the payment.succeeded event. A request with the
// same key is the same checkout, and tells how it stands.
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

// Checkout reads a checkout of this merchant: GET /v1/checkouts/{checkoutId}.
// Checkouts are kept for 30 days.
//
// Errors: [ErrNotFound], and those that every call may return (see the package comment).
func (c *Client) Checkout(ctx context.Context, id string) (Checkout, error) {
	return do(ctx, c, call{
		doing: "read checkout", method: http.MethodGet, idempotent: true, pattern: "/v1/checkouts/{checkoutId}", value: id,
	}, func(k *Checkout, _ answer) bool { return k.ID != "" && k.Status != "" })
}
