package client

import (
	"cmp"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// RefundStatus is the state of a refund.
type RefundStatus string

// The states of a refund. Only pending ones change.
const (
	RefundPending   RefundStatus = "pending"
	RefundSucceeded RefundStatus = "succeeded"
	RefundFailed    RefundStatus = "failed"
)

// RefundParams are the parameters of [Client.Refund].
type RefundParams struct {
	// AmountCents is the amount in US cents, at least 1. Default: what is left of the payment.
	AmountCents int64 `json:"amountCents,omitzero"`
	// Reason appears on the person's statement: up to 500 characters. Optional.
	Reason string `json:"reason,omitempty"`
	// IdempotencyKey identifies the refund, as in [ChargeParams].
	IdempotencyKey string `json:"idempotencyKey"`
}

// Refund is an amount of a payment that was given back to its payer.
type Refund struct {
	// ID is the refund's id (rfd_…).
	ID string `json:"id"`
	// TransactionID is the id of the charge (txn_…).
	TransactionID string `json:"transactionId"`
	// Status is RefundPending, RefundSucceeded or RefundFailed.
	Status RefundStatus `json:"status"`
	// AmountCents is the amount in US cents.
	AmountCents int64 `json:"amountCents"`
	// Reason is the reason of the request.
	Reason string `json:"reason,omitempty"`
	// FailureReason is set if Status is RefundFailed.
	FailureReason FailureReason `json:"failureReason,omitempty"`
	// TxHash is the transaction on the chain. It is set if Status is RefundSucceeded.
	TxHash string `json:"txHash,omitempty"`
	// Signature is what the payee's wallet must sign. It is nil unless the refund waits for
	// it. Hand the signature in with [Client.SignRefund].
	Signature *RefundSignature `json:"signature,omitempty"`
	// ProcessorRefundID is the card processor's id of the refund.
	ProcessorRefundID string `json:"processorRefundId,omitempty"`
	// CreatedAt is when the refund was requested.
	CreatedAt time.Time `json:"createdAt"`
	// Replayed reports whether this is the stored result of an earlier call with the same
	// idempotency key.
	Replayed bool `json:"-"`
}

// RefundSignature is what a refund on the chain waits for.
type RefundSignature struct {
	// Signer is the address of the wallet that must sign: the one that the payment went to.
	Signer string `json:"signer"`
	// TypedData is the message (EIP-712): a transfer (EIP-3009) to the wallet that paid. A
	// wallet signs it by eth_signTypedData_v4; for a key in memory see
	// [github.com/paywarrant/paywarrant/x402/evm.Wallet.SignRefund].
	TypedData json.RawMessage `json:"typedData"`
	// ExpiresAt is when the refund fails unless the signature was handed in.
	ExpiresAt time.Time `json:"expiresAt"`
}

// RefundPage is one page of the refunds of a payment.
type RefundPage struct {
	// HasMore reports whether later refunds follow.
	HasMore bool `json:"hasMore"`
	// Data lists the refunds, oldest first.
	Data []Refund `json:"data"`
}

// Refund gives back a part of a payment, or what is left of it: POST
// /v1/payments/{transactionId}/refunds. Several partial refunds never give back more than was
// charged, and a payment has at most 100, failed ones included. Once a refund has succeeded,
// the mandate may spend the amount again, in the limits in which the payment still counts,
// except the month of a payment on the chain, whose contract counts no refunds. The fee is not
// returned. Check [Refund].Status: [RefundPending] is followed by a webhook event.
//
// While its tab is open, a draw is refunded in full only, and is [Voided] then; it is not
// refunded if the sum of the tab would fall below 50 cents.
//
// A refund on the chain comes out of the payee's wallet, and is pending until that has signed:
// see [Refund].Signature. The service pays for the gas.
//
// Errors: [ErrUnknownOutcome], [ErrNotFound], [ErrNotRefundable], [ErrTooManyRefunds],
// [ErrIdempotencyInProgress], [ErrIdempotencyMismatch], [ErrValidation], and those that every call may return (see the
// package comment).
func (c *Client) Refund(ctx context.Context, transactionID string, p RefundParams) (Refund, error) {
	if p.IdempotencyKey == "" {
		p.IdempotencyKey = newKey()
	}
	return do(ctx, c, call{
		doing: "refund payment", method: http.MethodPost, pattern: "/v1/payments/{transactionId}/refunds", value: transactionID,
		body: p, idempotent: true, key: p.IdempotencyKey,
	}, func(r *Refund, a answer) bool {
		r.Replayed = a.header.Get("Idempotency-Replayed") == "true"
		return r.ID != "" && r.Status != ""
	})
}

// RefundsPage returns one page of the refunds of a payment, oldest first:
// GET /v1/payments/{transactionId}/refunds. Limit is 100 by default. If HasMore is true, the
// next page starts after the last refund of this one.
//
// Errors: [ErrNotFound], [ErrValidation] for an invalid limit or cursor, and those that every
// call may return (see the package comment).
func (c *Client) RefundsPage(ctx context.Context, transactionID string, p ListParams) (RefundPage, error) {
	q := url.Values{}
	if p.Limit != 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.StartingAfter != "" {
		q.Set("starting_after", p.StartingAfter)
	}
	return do(ctx, c, call{
		doing: "list refunds", method: http.MethodGet, idempotent: true, pattern: "/v1/payments/{transactionId}/refunds", value: transactionID, query: q,
	}, func(l *RefundPage, _ answer) bool { return l.Data != nil })
}

// Refunds returns an iterator over the refunds of a payment, oldest first, as
// [Client.Transactions] does over transactions.
func (c *Client) Refunds(ctx context.Context, transactionID string, p ListParams) iter.Seq2[Refund, error] {
	return pages("list refunds", p.StartingAfter, func(after string) ([]Refund, bool, error) {
		page, err := c.RefundsPage(ctx, transactionID, ListParams{Limit: cmp.Or(p.Limit, rangePage), StartingAfter: after})
		return page.Data, page.HasMore, err
	}, func(r Refund) string { return r.ID })
}

// SignRefund hands in the payee's signature of a refund on the chain, in hexadecimal:
// POST /v1/payments/{transactionId}/refunds/{refundId}/signature. The service sends the
// transfer and pays for the gas. Repeating the call is safe: the token makes the transfer
// once.
//
// Errors: [ErrNotFound], [ErrValidation] if the wallet did not sign this, [ErrRefundRefused] if
// the transfer would fail now, and those that every call may return (see the package comment). After [ErrRefundRefused] nothing has changed, and the same signature
// may be handed in again.
func (c *Client) SignRefund(ctx context.Context, transactionID, refundID, signature string) (Refund, error) {
	body := struct {
		Signature string `json:"signature"`
	}{signature}
	return do(ctx, c, call{
		doing: "sign refund", method: http.MethodPost, pattern: "/v1/payments/{transactionId}/refunds/{refundId}/signature",
		value: transactionID, second: refundID, body: body, idempotent: true,
	}, func(r *Refund, _ answer) bool { return r.ID != "" && r.Status != "" })
}
