package client

import (
	"context"
	"net/http"
	"time"
)

// PresentationParams are the parameters of [Client.CreatePresentation].
type PresentationParams struct {
	// Audience is the origin of Resource, such as "https://api.example.com". Required.
	Audience string `json:"audience"`
	// Nonce is the id of the paywall's challenge. Required.
	Nonce string `json:"nonce"`
	// Amount is the price in dollars, with at most six decimals, such as "0.01". Required.
	Amount string `json:"amount"`
	// PayTo is the wallet address of the payee. Required.
	PayTo string `json:"payTo"`
	// Network is the CAIP-2 id of the chain. Required.
	Network string `json:"network"`
	// Resource is the absolute URL that is paid for. Required.
	Resource string `json:"resource"`
	// ExpiresInSeconds is how long the presentation is valid: 1 to 300. Default: 300.
	ExpiresInSeconds int64 `json:"expiresInSeconds,omitzero"`
}

// Presentation is a mandate bound to one payment. Printed or logged, it hides its token.
type Presentation struct {
	// Presentation is the value of the X-Service-Mandate header of the paid request. It
	// can pay once, and only what it was made for.
	Presentation string `json:"presentation"`
	// ExpiresAt is when the presentation expires.
	ExpiresAt time.Time `json:"expiresAt"`
}

// CreatePresentation binds a mandate to one payment at one paywall:
// POST /v1/mandates/{intentMandate}/presentations. The service signs it with the
// mandate's own key, which never leaves the service, so a paywall that receives the
// presentation cannot use it again. The mandate is given by its token, or by its id
// (del_…) if this merchant created it.
//
// A presentation reserves nothing: the settlement decides. The call is retried after
// any temporary failure.
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
