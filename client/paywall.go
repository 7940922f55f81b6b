package client

import (
	"context"
	"net/http"
)

// SettlePaywall takes a paywall's price from a mandate: POST /v1/paywall/settle.
// Package paywall calls it; most programs need not. If the rail refuses the payment,
// the error is nil, Success is false and ErrorReason is the reason.
//
// Without an IdempotencyKey the call uses a random one for all its retries. A paywall
// derives the key from the credential, so that a credential is charged once.
//
// Errors: those of [Client.Charge]. Check for [ErrUnknownOutcome] first.
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
