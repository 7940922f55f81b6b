package client

import (
	"context"
	"net/http"
	"time"
)

// ReceiptParams are the parameters of [Client.VerifyReceipt].
type ReceiptParams struct {
	// Receipt is the value of an X-PAYMENT-RESPONSE or PAYMENT-RESPONSE header. Required.
	Receipt string `json:"receipt"`
	// Resource is the absolute URL that the receipt must have paid for. Required.
	Resource string `json:"resource"`
	// PayTo is the wallet address that the receipt must have paid. Required.
	PayTo string `json:"payTo"`
	// Amount is the price in dollars that the receipt must have paid, such as "0.01". Required.
	Amount string `json:"amount"`
	// Redeem marks a valid receipt as used, so that it is accepted only once. Only the
	// merchant that owns PayTo may redeem. Default: the receipt is only checked.
	Redeem bool `json:"redeem,omitzero"`
}

// ReceiptVerdict reports whether a receipt is valid for what it was presented for. The
// fields after Reason are set if Valid is true.
type ReceiptVerdict struct {
	// Valid reports whether the receipt is valid.
	Valid bool `json:"valid"`
	// Reason is the reason why it is not: not_found, expired, already_redeemed, reversed if the
	// rail took the payment back, refunded if the payee gave all of it back, or the difference,
	// such as resource_mismatch.
	Reason string `json:"reason,omitempty"`
	// Transaction is the transaction hash on chain, or the card processor's payment id.
	Transaction string `json:"transaction,omitempty"`
	// Network is the CAIP-2 id of the chain, or "card".
	Network string `json:"network,omitempty"`
	// Payer is the wallet that paid, or the mandate's id.
	Payer string `json:"payer,omitempty"`
	// PayTo is the wallet address of the payee.
	PayTo string `json:"payTo,omitempty"`
	// Amount is the amount paid, in dollars.
	Amount string `json:"amount,omitempty"`
	// Resource is the absolute URL that was paid for.
	Resource string `json:"resource,omitempty"`
	// TransactionID is the id of the charge (txn_…), set if the service has one.
	TransactionID string `json:"transactionId,omitempty"`
	// SettledAt is when the payment settled. It is nil if the service does not know.
	SettledAt *time.Time `json:"settledAt,omitempty"`
}

// VerifyReceipt checks a receipt against the ledger and the chain:
// POST /v1/x402/verify-receipt. A receipt is bound to resource, payee and amount, and
// is valid for a day. If it is not valid, the error is nil and Valid is false.
//
// A call with Redeem is not retried, because a lost response may have redeemed the
// receipt already.
//
// Errors: [ErrValidation], [ErrUnauthorized] with Redeem, and those that every call
// may return (see the package comment).
func (c *Client) VerifyReceipt(ctx context.Context, p ReceiptParams) (ReceiptVerdict, error) {
	return do(ctx, c, call{
		doing: "verify receipt", method: http.MethodPost, pattern: "/v1/x402/verify-receipt", body: p, idempotent: !p.Redeem,
	}, func(v *ReceiptVerdict, _ answer) bool { return v.Valid || v.Reason != "" })
}
