package client

import (
	"context"
	"net/http"
)

// SettlePaywall takes a paywall's price from a mandate: POST /v1/paywall/settle.
// Package paywall calls it; few others need to. A settlement that the rail
// refused is no error: Success is false and ErrorReason says why.
//
// Without an IdempotencyKey the call makes a random one and keeps it over its
// retries. A paywall gives one that it derives from the credential, so that the
// same credential shown twice is paid once.
//
// Errors: those of [Client.Charge], [ErrUnknownOutcome] first.
func (c *Client) SettlePaywall(ctx context.Context, p PaywallSettlementParams) (PaywallSettlement, error) {
	if p.IdempotencyKey == "" {
		p.IdempotencyKey = newKey()
	}
	return do(ctx, c, call{
		doing: "settle paywall", method: http.MethodPost, pattern: "/v1/paywall/settle",
		body: p, secrets: []string{p.Mandate}, idempotent: true, key: p.IdempotencyKey,
	}, func(s *PaywallSettlement, _ answer) bool {
		if s.Success {
			return s.Transaction != "" || s.TransactionID != ""
		}
		return s.ErrorReason != ""
	})
}
