package client

import (
	"context"
	"net/http"
	"time"
)

// PresentationParams asks for a presentation: a mandate bound to one payment at
// one paywall. POST /v1/mandates/{intentMandate}/presentations.
type PresentationParams struct {
	// Audience is the origin of Resource: "https://api.example.com".
	Audience string `json:"audience"`
	// Nonce is the id of the paywall's challenge.
	Nonce string `json:"nonce"`
	// Amount is the price in dollars, with at most six decimals: "0.01".
	Amount string `json:"amount"`
	// PayTo is the wallet address of the payee.
	PayTo string `json:"payTo"`
	// Network is the CAIP-2 id of the chain.
	Network string `json:"network"`
	// Resource is the full URL that is paid for.
	Resource string `json:"resource"`
	// ExpiresInSeconds is how long the presentation is good: 1 to 300. Default: 300.
	ExpiresInSeconds int64 `json:"expiresInSeconds,omitempty"`
}

// Presentation is a mandate bound to one payment.
type Presentation struct {
	// Presentation goes into the header X-Service-Mandate of the paid request. It
	// pays what it was made for, once, and nothing else.
	Presentation string `json:"presentation"`
	// ExpiresAt ends it.
	ExpiresAt time.Time `json:"expiresAt"`
}

// CreatePresentation binds a mandate to one payment:
// POST /v1/mandates/{intentMandate}/presentations. The service signs with the
// mandate's own key, which it keeps; a paywall that is shown the presentation
// learns nothing that it could use again. The mandate is its token, or its del_
// id where this merchant created it.
//
// Nothing is reserved: the settlement decides. To ask again is no error, so the
// call is sent again after any failure that may pass.
//
// Errors: [ErrPerTxLimit], [ErrMandateRevoked], [ErrMandateExpired],
// [ErrMerchantNotAllowed], [ErrMerchantInactive], [ErrMandateInvalid], [ErrNotFound],
// [ErrValidation], and those that every call may return (see the package comment).
func (c *Client) CreatePresentation(ctx context.Context, mandate string, p PresentationParams) (Presentation, error) {
	return do(ctx, c, call{
		doing: "create presentation", method: http.MethodPost, idempotent: true, body: p,
		pattern: "/v1/mandates/{intentMandate}/presentations", value: mandate, secrets: []string{mandate},
	}, func(p *Presentation, _ answer) bool { return p.Presentation != "" })
}
