package client

import (
	"context"
	"net/http"
)

// CreateSession starts a setup session: POST /v1/mandates. Send the person to its
// SetupURL, then call [Client.WaitForMandate].
//
// A session has no idempotency key, so the call is sent again only where the
// service cannot have acted on it: no connection, 429 or 503. A session too many
// does no harm: nobody confirms it, and it ends by itself.
//
// Errors: [ErrValidation], [ErrUnauthorized], [ErrMerchantInactive],
// [ErrRateLimited], [ErrUnavailable], and those that every call may return (see
// the package comment).
func (c *Client) CreateSession(ctx context.Context, p SessionParams) (Session, error) {
	return do(ctx, c, call{
		doing: "create session", method: http.MethodPost, pattern: "/v1/mandates", body: p,
	}, func(s *Session, _ answer) bool { return s.SessionToken != "" && s.SetupURL != "" })
}

// Session reads a setup session that this merchant created:
// GET /v1/mandates/session/{sessionToken}.
//
// Errors: [ErrNotFound] where there is none such, [ErrValidation] for a token that
// cannot be one, and those that every call may return (see the package comment).
func (c *Client) Session(ctx context.Context, sessionToken string) (Session, error) {
	return do(ctx, c, call{
		doing: "read session", method: http.MethodGet, idempotent: true,
		pattern: "/v1/mandates/session/{sessionToken}", value: sessionToken, secrets: []string{sessionToken},
	}, func(s *Session, _ answer) bool { return s.Status != "" })
}
