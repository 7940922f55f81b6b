package client

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// SellerOffer is what a seller outside of the service asks for: one entry of the 402
// response of x402, or a challenge of the Payment scheme (MPP).
type SellerOffer struct {
	// X402Version is 1 or 2. Zero with Challenge.
	X402Version int `json:"x402Version,omitzero"`
	// Accepted is the entry of accepts to pay, as the seller sent it.
	Accepted json.RawMessage `json:"accepted,omitempty"`
	// Resource is the resource of an x402 version 2 response. Optional.
	Resource json.RawMessage `json:"resource,omitempty"`
	// Extensions are those of an x402 version 2 response, which the credential repeats.
	// Optional.
	Extensions json.RawMessage `json:"extensions,omitempty"`
	// Challenge is the value of a WWW-Authenticate header with one challenge, in place of
	// the other fields.
	Challenge string `json:"challenge,omitempty"`
}

// CredentialParams are the parameters of [Client.CreateCredential].
type CredentialParams struct {
	// Offer is what the seller asks for. Required.
	Offer SellerOffer `json:"offer"`
	// Resource is the URL that is paid for. Required.
	Resource string `json:"resource"`
	// IdempotencyKey identifies the purchase under the mandate. Required: a repeat with the
	// same key returns the same credential.
	IdempotencyKey string `json:"idempotencyKey"`
}

// CredentialHeader is the header of the request that pays a seller.
type CredentialHeader struct {
	// Name is PAYMENT-SIGNATURE, X-PAYMENT or Authorization.
	Name string `json:"name"`
	// Value is the header's value. Its holder can pay the seller with it, and no other
	// payee.
	Value string `json:"value"`
}

// Credential pays a seller outside of the service.
type Credential struct {
	// TransactionID is the id of the charge (txn_…). It stays [Pending] until the seller has
	// settled, is [Completed] then, and [Failed] if the seller no longer can.
	TransactionID string `json:"transactionId"`
	// Status is the charge's state.
	Status Status `json:"status"`
	// AmountMicros is the price in millionths of a US dollar.
	AmountMicros int64 `json:"amountMicros"`
	// PayTo is the wallet address of the seller.
	PayTo string `json:"payTo"`
	// Header is the header that pays, or nil: the charge has failed, or its money is still on
	// its way and the call must be repeated.
	Header *CredentialHeader `json:"header,omitempty"`
	// ExpiresAt is until when the seller can settle. Zero without a header.
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	// FailureReason is set if Status is Failed.
	FailureReason FailureReason `json:"failureReason,omitempty"`
	// TxHash is the seller's transaction, once it is final.
	TxHash string `json:"txHash,omitempty"`
}

// CreateCredential pays a seller that does not know the service, out of the wallet of a
// mandate: POST /v1/mandates/{intentMandate}/credentials. The mandate must allow any payee,
// and its limits hold as for every charge. The service moves the price to the session account
// of the mandate and signs the seller's transfer from there. Money that the seller does not
// take pays the next purchase, or goes back to the wallet.
//
// Errors: [ErrOfferNotPayable], those of [Client.CreateCharge], and those that every call may
// return (see the package comment).
func (c *Client) CreateCredential(ctx context.Context, mandate string, p CredentialParams) (Credential, error) {
	return do(ctx, c, call{
		doing: "create credential", method: http.MethodPost, idempotent: true, body: p,
		pattern: "/v1/mandates/{intentMandate}/credentials", value: mandate, secrets: []string{mandate},
	}, func(p *Credential, _ answer) bool { return p.TransactionID != "" && p.Status != "" })
}

// Sweep is money that goes back from the session account of a mandate to the person's wallet.
type Sweep struct {
	// SweepID is the sweep's id (swp_…).
	SweepID string `json:"sweepId"`
	// Status is [Pending], [Completed] or [Failed].
	Status Status `json:"status"`
	// AmountMicros is the amount in millionths of a US dollar.
	AmountMicros int64 `json:"amountMicros"`
	// TxHash is the transaction, once it is final.
	TxHash string `json:"txHash,omitempty"`
}

// SweepSession sends what sellers have not taken back to the person's wallet: POST
// /v1/mandates/{intentMandate}/sweep. The service does the same when the mandate ends, and
// after 30 days. The call returns the sweep that is going on; it returns [ErrNotFound] if there
// is nothing to send back.
func (c *Client) SweepSession(ctx context.Context, mandate string) (Sweep, error) {
	return do(ctx, c, call{
		doing: "sweep session account", method: http.MethodPost, idempotent: true, body: struct{}{},
		pattern: "/v1/mandates/{intentMandate}/sweep", value: mandate, secrets: []string{mandate},
	}, func(p *Sweep, _ answer) bool { return p.SweepID != "" })
}
