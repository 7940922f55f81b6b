package client

import (
	"context"
	"net/http"
	"time"
)

// TestCompletion is what a person decides, in the sandbox. Zero fields take what
// the session asks for.
type TestCompletion struct {
	// PaymentMethods to connect. Default: card_visa.
	PaymentMethods []string `json:"paymentMethods,omitempty"`
	// MaxPerTxCents and MaxMonthlySpendCents lower the limits.
	MaxPerTxCents        int64 `json:"maxPerTxCents,omitempty"`
	MaxMonthlySpendCents int64 `json:"maxMonthlySpendCents,omitempty"`
	// ExpiresAt ends the mandate sooner.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// AllowedMerchantIDs narrows the allowlist.
	AllowedMerchantIDs []string `json:"allowedMerchantIds,omitempty"`
	// Email binds the mandate to an address.
	Email string `json:"email,omitempty"`
}

// CompleteTestSession confirms a session as a person would, in the sandbox:
// POST /v1/test_helpers/mandates/session/{sessionToken}/complete.
//
// Errors: [ErrValidation] for a payment method that is refused or limits that are
// wider than the session's, [ErrNotFound], also outside of the sandbox,
// [ErrSessionFinished], and those that every call may return (see the package comment).
func (c *Client) CompleteTestSession(ctx context.Context, sessionToken string, p TestCompletion) (Session, error) {
	return do(ctx, c, call{
		doing: "complete session", method: http.MethodPost, body: p,
		pattern: "/v1/test_helpers/mandates/session/{sessionToken}/complete", value: sessionToken, secrets: []string{sessionToken},
	}, func(s *Session, _ answer) bool { return s.IntentMandate != "" })
}

// FailTestSession declines a session as a person would, in the sandbox:
// POST /v1/test_helpers/mandates/session/{sessionToken}/fail.
//
// Errors: [ErrNotFound], also outside of the sandbox, [ErrSessionFinished], and
// those that every call may return (see the package comment).
func (c *Client) FailTestSession(ctx context.Context, sessionToken string) (Session, error) {
	return do(ctx, c, call{
		doing: "fail session", method: http.MethodPost,
		pattern: "/v1/test_helpers/mandates/session/{sessionToken}/fail", value: sessionToken, secrets: []string{sessionToken},
	}, func(s *Session, _ answer) bool { return s.Status != "" })
}

// AdvanceTestClock moves the sandbox's clock forward, by whole seconds:
// POST /v1/test_helpers/clock/advance.
//
// Errors: [ErrValidation], [ErrNotFound] outside of the sandbox, and those that
// every call may return (see the package comment).
func (c *Client) AdvanceTestClock(ctx context.Context, d time.Duration) (Clock, error) {
	return do(ctx, c, call{
		doing: "advance clock", method: http.MethodPost, pattern: "/v1/test_helpers/clock/advance",
		body: map[string]int64{"seconds": int64(d / time.Second)},
	}, func(k *Clock, _ answer) bool { return !k.Now.IsZero() })
}

// CreateTestMerchant makes a merchant with credentials, in the sandbox:
// POST /v1/test_helpers/merchants.
//
// Errors: [ErrValidation], [ErrNotFound] outside of the sandbox, and those that
// every call may return (see the package comment).
func (c *Client) CreateTestMerchant(ctx context.Context, name string) (Merchant, error) {
	return do(ctx, c, call{
		doing: "create merchant", method: http.MethodPost, pattern: "/v1/test_helpers/merchants",
		body: map[string]string{"name": name},
	}, func(m *Merchant, _ answer) bool { return m.ID != "" && m.APIKey != "" })
}
