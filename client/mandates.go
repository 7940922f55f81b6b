package client

import (
	"context"
	"net/http"
)

// Balance returns what a mandate allows and what is left of it this month:
// GET /v1/mandates/{intentMandate}/balance. The mandate is given by its token or its
// id (del_…), and it must allow this merchant.
//
// A balance reserves nothing: whether a later charge fits is decided by Charge.
//
// Errors: [ErrNotFound], [ErrMandateInvalid], [ErrMerchantNotAllowed],
// [ErrValidation], and those that every call may return (see the package comment).
func (c *Client) Balance(ctx context.Context, mandate string) (Balance, error) {
	return do(ctx, c, call{
		doing: "read balance", method: http.MethodGet, idempotent: true,
		pattern: "/v1/mandates/{intentMandate}/balance", value: mandate, secrets: []string{mandate},
	}, func(b *Balance, _ answer) bool { return b.Status != "" })
}

// Revoke ends a mandate immediately and for good:
// POST /v1/mandates/{intentMandate}/revoke. The mandate is given by its token or its
// id (del_…), and this merchant must have created it. Revoking a revoked mandate
// succeeds, so the call is retried after any temporary failure.
//
// Errors: [ErrNotFound], [ErrMandateInvalid], [ErrMerchantNotAllowed],
// [ErrValidation], and those that every call may return (see the package comment).
// After one of the latter the mandate may be revoked or not: call Revoke again.
func (c *Client) Revoke(ctx context.Context, mandate string) (Revocation, error) {
	return do(ctx, c, call{
		doing: "revoke mandate", method: http.MethodPost, idempotent: true,
		pattern: "/v1/mandates/{intentMandate}/revoke", value: mandate, secrets: []string{mandate},
	}, func(r *Revocation, _ answer) bool { return r.Success && r.Status != "" })
}
