package client

import (
	"bytes"
	"context"
	"net/http"
)

// Stats returns the merchant's totals: GET /v1/merchants/stats.
//
// Errors: those that every call may return (see the package comment).
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	return do(ctx, c, call{
		doing: "read statistics", method: http.MethodGet, pattern: "/v1/merchants/stats", idempotent: true,
	}, func(_ *Stats, a answer) bool { return bytes.Contains(a.body, []byte(`"totalVolumeCents"`)) })
}
