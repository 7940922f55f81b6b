package client

import (
	"context"
	"net/http"
)

// Balance tells what a mandate allows and what is left of it:
// GET /v1/mandates/{intentMandate}/balance. The mandate is its token or its del_
// id, and this merchant must be on its allowlist.
//
// The rest may be gone by the time that it is charged: only Charge decides.
//
// Errors: [ErrNotFound], [ErrMandateInvalid], [ErrMerchantNotAllowed],
// [ErrValidation], and those that every call may return (see the package comment).
func (c *Client) Balance(ctx context.Context, mandate string) (Balance, error) {
	return do(ctx, c, call{
		doing: "read balance", method: http.MethodGet, idempotent: true,
		pattern: "/v1/mandates/{intentMandate}/balance", value: mandate, secrets: []string{mandate},
	}, func(b *Balance, _ answer) bool { return b.Status != "" })
}

// Revoke ends a mandate for good, at once: POST /v1/mandates/{intentMandate}/revoke.
// The mandate is its token or its del_ id, and this merchant must have created it.
// To revoke again is no error, so the call is sent again after any failure that may pass.
//
// Errors: [ErrNotFound], [ErrMandateInvalid], [ErrMerchantNotAllowed],
// [ErrValidation], and those that every call may return (see the package comment);
// after the latter the mandate may be revoked or not: revoke again.
func (c *Client) Revoke(ctx context.Context, mandate string) (Revocation, error) {
	return do(ctx, c, call{
		doing: "revoke mandate", method: http.MethodPost, idempotent: true,
		pattern: "/v1/mandates/{intentMandate}/revoke", value: mandate, secrets: []string{mandate},
	}, func(r *Revocation, _ answer) bool { return r.Success && r.Status != "" })
}
