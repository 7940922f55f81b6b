package client

import (
	"context"
	"net/http"
)

// CreateSession starts a setup session: POST /v1/mandates. Send the person to its
// SetupURL, then call [Client.WaitForMandate].
//
// A call with the same IdempotencyKey returns the same session in its current state, for
// at least 30 days. Without a key the call uses a random one for all its retries.
//
// Errors: [ErrValidation], [ErrIdempotencyMismatch], [ErrUnauthorized],
// [ErrMerchantInactive], [ErrRateLimited], [ErrUnavailable], and those that every call
// may return (see the package comment).
func (c *Client) CreateSession(ctx context.Context, p SessionParams) (Session, error) {
	if p.IdempotencyKey == "" {
		p.IdempotencyKey = newKey()
	}
	return do(ctx, c, call{
		doing: "create session", method: http.MethodPost, pattern: "/v1/mandates", body: p, idempotent: true,
	}, func(s *Session, _ answer) bool { return s.SessionToken != "" && s.SetupURL != "" })
}

// Session returns a setup session that this merchant created:
// GET /v1/mandates/session/{sessionToken}.
//
// Errors: [ErrNotFound] if there is no such session, [ErrValidation] for a malformed
// token, and those that every call may return (see the package comment).
func (c *Client) Session(ctx context.Context, sessionToken string) (Session, error) {
	return do(ctx, c, call{
		doing: "read session", method: http.MethodGet, idempotent: true,
		pattern: "/v1/mandates/session/{sessionToken}", value: sessionToken, secrets: []string{sessionToken},
	}, func(s *Session, _ answer) bool { return s.Status != "" })
}
