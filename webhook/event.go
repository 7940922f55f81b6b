package webhook

import (
	"encoding/json"
	"time"
)

// Type is the type of an event.
type Type string

// The event types. They are the same on both rails.
const (
	// PaymentSucceeded: a charge succeeded.
	PaymentSucceeded Type = "payment.succeeded"
	// PaymentFailed: a charge failed.
	PaymentFailed Type = "payment.failed"
	// PaymentAuthorized: an amount is held, to be captured or voided later.
	PaymentAuthorized Type = "payment.authorized"
	// PaymentVoided: an authorized amount was given back, by the merchant or because its
	// time passed.
	PaymentVoided Type = "payment.voided"
	// PaymentWrittenOff: the tab of a draw stayed below what a card can pay. The operator has
	// paid the payee.
	PaymentWrittenOff Type = "payment.written_off"
	// PaymentRefunded: an amount of a charge was given back to its payer.
	PaymentRefunded Type = "payment.refunded"
	// PaymentRefundFailed: the rail refused a refund, and nothing was given back.
	PaymentRefundFailed Type = "payment.refund_failed"
	// PaymentReversed: a charge that succeeded was reversed by its rail, on a chain by a deep
	// reorganization. The payee does not have the money.
	PaymentReversed Type = "payment.reversed"
	// MandateCreated: a person completed a setup session.
	MandateCreated Type = "delegate.created"
	// MandateRevoked: a mandate was revoked.
	MandateRevoked Type = "delegate.revoked"
)

// Test is the type of events that a merchant sends to test its own endpoint. They are not
// listed, and their data is empty.
const Test Type = "webhook.test"

// Types returns the event types, without [Test].
func Types() []Type {
	return []Type{PaymentSucceeded, PaymentFailed, PaymentAuthorized, PaymentVoided, PaymentWrittenOff, PaymentRefunded, PaymentRefundFailed, PaymentReversed, MandateCreated, MandateRevoked}
}

// Event is an event of the service.
type Event struct {
	// ID identifies the event: evt_…. It is the same for every delivery of the event.
	ID string `json:"id"`
	// Type is the type of the event.
	Type Type `json:"type"`
	// Data depends on the type: a [Payment] or a [Mandate].
	Data json.RawMessage `json:"data"`
	// CreatedAt is when the event happened.
	CreatedAt time.Time `json:"created_at"`
	// Livemode reports whether the event is of the live service, not of a sandbox.
	Livemode bool `json:"livemode"`
}

// StatusReversed is the [Payment.Status] of [PaymentReversed] events. The transaction itself
// stays "succeeded" in the API.
const StatusReversed = "reversed"

// Refund is the refund of a [PaymentRefunded] or [PaymentRefundFailed] event.
type Refund struct {
	// ID is the id of the refund: rfd_….
	ID string `json:"id"`
	// Status is "succeeded" or "failed".
	Status string `json:"status"`
	// AmountCents is AmountMicros in US cents, rounded up.
	AmountCents int64 `json:"amountCents"`
	// AmountMicros is the amount in micro-dollars.
	AmountMicros int64 `json:"amountMicros"`
	// Reason is the merchant's reason; may be empty.
	Reason string `json:"reason,omitempty"`
	// FailureReason is the code of a failed refund.
	FailureReason string `json:"failureReason,omitempty"`
	// TxHash is the transaction on the chain that gave the amount back.
	TxHash string `json:"txHash,omitempty"`
}

// Payment is the data of payment events.
type Payment struct {
	// TransactionID is the id of the charge: txn_….
	TransactionID string `json:"transactionId"`
	// MandateID is the id of the mandate: del_…. Empty if a wallet signed the payment itself.
	MandateID string `json:"delegateId"`
	// Source is the protocol of the payment: "mandate", "tab" for one drawn from a tab, or
	// "x402" or "mpp" for a transfer that a wallet signed. Empty in events of earlier versions:
	// "mandate".
	Source string `json:"source,omitempty"`
	// Payer is the address of the wallet that signed the payment. Empty for a mandate.
	Payer string `json:"payer,omitempty"`
	// AmountCents is AmountMicros in US cents, rounded up.
	AmountCents int64 `json:"amountCents"`
	// AmountMicros is the amount in micro-dollars.
	AmountMicros int64 `json:"amountMicros"`
	// Rail is "fiatrail" for cards, or "chainrail". Empty if no rail was tried.
	Rail string `json:"rail,omitempty"`
	// AuthorizedMicros is the amount that was authorized, in micro-dollars. Zero for a payment
	// that was not authorized first.
	AuthorizedMicros int64 `json:"authorizedMicros,omitzero"`
	// AuthorizedUntil is when the authorization ends. Nil unless Status is "authorized".
	AuthorizedUntil *time.Time `json:"authorizedUntil,omitempty"`
	// TabID is the tab that the payment is a draw from: tab_…. Empty for other payments.
	TabID string `json:"tabId,omitempty"`
	// Status is "succeeded", "failed", "authorized", "voided", "written_off" or [StatusReversed].
	Status string `json:"status"`
	// Refund is set for [PaymentRefunded] and [PaymentRefundFailed].
	Refund *Refund `json:"refund,omitempty"`
	// TxHash is the transaction hash of a chain payment.
	TxHash string `json:"txHash,omitempty"`
	// FailureReason is the code of a failed payment.
	FailureReason string `json:"failureReason,omitempty"`
}

// Mandate is the data of mandate events.
type Mandate struct {
	// MandateID is the id of the mandate: del_….
	MandateID string `json:"delegateId"`
	// Status is "active" or "revoked".
	Status string `json:"status"`
	// MaxPerTxCents is the limit for one transaction, in US cents.
	MaxPerTxCents int64 `json:"maxPerTxCents"`
	// MaxMonthlySpendCents is the limit for a calendar month, in US cents.
	MaxMonthlySpendCents int64 `json:"maxMonthlySpendCents"`
	// MaxDailySpendCents is the limit for a day in UTC, in US cents. Zero: none.
	MaxDailySpendCents int64 `json:"maxDailySpendCents,omitzero"`
	// MaxTotalSpendCents is the limit for all payments, in US cents. Zero: none.
	MaxTotalSpendCents int64 `json:"maxTotalSpendCents,omitzero"`
	// MaxPaymentsPerDay is the limit for the number of payments of a day in UTC. Zero: none.
	MaxPaymentsPerDay int64 `json:"maxPaymentsPerDay,omitzero"`
	// MaxMonthlyPerPayeeCents is the limit for one payee in a calendar month, in US cents.
	// Zero: none.
	MaxMonthlyPerPayeeCents int64 `json:"maxMonthlyPerPayeeCents,omitzero"`
	// Rails are the rails of the mandate: "fiatrail", "chainrail".
	Rails []string `json:"rails"`
	// ExpiresAt is when the mandate expires.
	ExpiresAt time.Time `json:"expiresAt"`
	// RevokedBy is "merchant", "user" or "contract" in [MandateRevoked] events.
	RevokedBy string `json:"revokedBy,omitempty"`
}
