package client

import (
	"context"
	"net/http"
	"time"
)

// TestCompletion is what the person decides in [Client.CompleteTestSession]. Zero
// fields take the values of the session.
type TestCompletion struct {
	// PaymentMethods lists the payment methods to connect, such as card_visa,
	// card_declined or wallet. Default: card_visa.
	PaymentMethods []string `json:"paymentMethods,omitempty"`
	// MaxPerTxCents lowers the limit per payment, in US cents.
	MaxPerTxCents int64 `json:"maxPerTxCents,omitzero"`
	// MaxMonthlySpendCents lowers the monthly limit, in US cents.
	MaxMonthlySpendCents int64 `json:"maxMonthlySpendCents,omitzero"`
	// FurtherLimits lower further limits, or add some that the session does not have.
	FurtherLimits
	// ExpiresAt makes the mandate expire earlier.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// AllowedMerchantIDs narrows the merchants that the mandate may pay.
	AllowedMerchantIDs []string `json:"allowedMerchantIds,omitempty"`
	// Email is the person's email address. Default: none.
	Email string `json:"email,omitempty"`
}

// CompleteTestSession confirms a session of the sandbox as a person would:
// POST /v1/test_helpers/mandates/session/{sessionToken}/complete.
//
// Errors: [ErrValidation] if a payment method is refused or a limit exceeds the
// session's, [ErrNotFound], also outside the sandbox, [ErrSessionFinished], and those
// that every call may return (see the package comment).
func (c *Client) CompleteTestSession(ctx context.Context, sessionToken string, p TestCompletion) (Session, error) {
	return do(ctx, c, call{
		doing: "complete session", method: http.MethodPost, body: p,
		pattern: "/v1/test_helpers/mandates/session/{sessionToken}/complete", value: sessionToken, secrets: []string{sessionToken},
	}, func(s *Session, _ answer) bool { return s.Mandate != "" })
}

// FailTestSession declines a session of the sandbox as a person would:
// POST /v1/test_helpers/mandates/session/{sessionToken}/fail.
//
// Errors: [ErrNotFound], also outside the sandbox, [ErrSessionFinished], and
// those that every call may return (see the package comment).
func (c *Client) FailTestSession(ctx context.Context, sessionToken string) (Session, error) {
	return do(ctx, c, call{
		doing: "fail session", method: http.MethodPost,
		pattern: "/v1/test_helpers/mandates/session/{sessionToken}/fail", value: sessionToken, secrets: []string{sessionToken},
	}, func(s *Session, _ answer) bool { return s.Status != "" })
}

// PaymentReversed is the status of a payment that a rail took back.
const PaymentReversed = "reversed"

// Reversal is the result of [Client.ReverseTestPayment].
type Reversal struct {
	// TransactionID is the id of the payment.
	TransactionID string `json:"transactionId"`
	// Status is [PaymentReversed].
	Status string `json:"status"`
}

// ReverseTestPayment takes back a succeeded payment of the sandbox, as a chain does whose
// blocks come undone: POST /v1/test_helpers/payments/{transactionId}/reverse. The merchant
// receives payment.reversed, once.
//
// Errors: [ErrNotFound] if no payment with this id succeeded, also outside the sandbox,
// and those that every call may return (see the package comment).
func (c *Client) ReverseTestPayment(ctx context.Context, transactionID string) (Reversal, error) {
	return do(ctx, c, call{
		doing: "reverse payment", method: http.MethodPost,
		pattern: "/v1/test_helpers/payments/{transactionId}/reverse", value: transactionID,
	}, func(r *Reversal, _ answer) bool { return r.Status != "" })
}

// AdvanceTestClock moves the sandbox's clock forward by d, rounded down to seconds:
// POST /v1/test_helpers/clock/advance.
//
// Errors: [ErrValidation], [ErrNotFound] outside the sandbox, and those that
// every call may return (see the package comment).
func (c *Client) AdvanceTestClock(ctx context.Context, d time.Duration) (Clock, error) {
	return do(ctx, c, call{
		doing: "advance clock", method: http.MethodPost, pattern: "/v1/test_helpers/clock/advance",
		body: map[string]int64{"seconds": int64(d / time.Second)},
	}, func(k *Clock, _ answer) bool { return !k.Now.IsZero() })
}

// CreateTestMerchant creates a merchant of the sandbox and returns its credentials:
// POST /v1/test_helpers/merchants.
//
// Errors: [ErrValidation], [ErrNotFound] outside the sandbox, and those that
// every call may return (see the package comment).
func (c *Client) CreateTestMerchant(ctx context.Context, name string) (Merchant, error) {
	return do(ctx, c, call{
		doing: "create merchant", method: http.MethodPost, pattern: "/v1/test_helpers/merchants",
		body: map[string]string{"name": name},
	}, func(m *Merchant, _ answer) bool { return m.ID != "" && m.APIKey != "" })
}
