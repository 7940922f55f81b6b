package client

import (
	"context"
	"net/http"
	"time"
)

// ReceiptParams is a receipt that somebody shows, and what it is shown for.
type ReceiptParams struct {
	// Receipt is the value of an X-PAYMENT-RESPONSE or PAYMENT-RESPONSE header.
	Receipt string `json:"receipt"`
	// Resource is the full URL that was paid for.
	Resource string `json:"resource"`
	// PayTo is the wallet that was paid, Amount the price in dollars: "0.01".
	PayTo  string `json:"payTo"`
	Amount string `json:"amount"`
	// Redeem spends a good receipt, so that it opens nothing twice. Only the merchant
	// whose wallet PayTo is may. Default: it is only looked at.
	Redeem bool `json:"redeem,omitempty"`
}

// ReceiptVerdict tells whether a receipt is good for what it was shown for.
type ReceiptVerdict struct {
	Valid bool `json:"valid"`
	// Reason says why not: not_found, expired, already_redeemed, or what differs, as
	// in resource_mismatch.
	Reason string `json:"reason,omitempty"`
	// What was paid, of a good one.
	Transaction string `json:"transaction,omitempty"`
	Network     string `json:"network,omitempty"`
	Payer       string `json:"payer,omitempty"`
	PayTo       string `json:"payTo,omitempty"`
	Amount      string `json:"amount,omitempty"`
	Resource    string `json:"resource,omitempty"`
	// TransactionID is the service's own, of a mandate.
	TransactionID string     `json:"transactionId,omitempty"`
	SettledAt     *time.Time `json:"settledAt,omitempty"`
}

// VerifyReceipt checks a receipt against ledger and chain:
// POST /v1/x402/verify-receipt. It is bound to resource, payee and amount, and good
// for a day. A receipt that is not good is no error: Valid is false.
//
// With Redeem it is spent by a call whose answer may be lost; it is not sent again
// by itself then.
//
// Errors: [ErrValidation], [ErrUnauthorized] with Redeem, and those that every call
// may return (see the package comment).
func (c *Client) VerifyReceipt(ctx context.Context, p ReceiptParams) (ReceiptVerdict, error) {
	return do(ctx, c, call{
		doing: "verify receipt", method: http.MethodPost, pattern: "/v1/x402/verify-receipt", body: p, idempotent: !p.Redeem,
	}, func(v *ReceiptVerdict, _ answer) bool { return v.Valid || v.Reason != "" })
}
