package webhook

import (
	"encoding/json"
	"time"
)

// Type names what happened.
type Type string

// The event types. They are the same on both rails.
const (
	// PaymentSucceeded: a charge has settled on its rail.
	PaymentSucceeded Type = "payment.succeeded"
	// PaymentFailed: a charge has failed on its rail.
	PaymentFailed Type = "payment.failed"
	// PaymentReversed: a payment that was reported as succeeded was taken back by its
	// rail: on a chain, by a deep reorganization. The payee does not have the money.
	PaymentReversed Type = "payment.reversed"
	// DelegateCreated: a person has completed a setup session.
	DelegateCreated Type = "delegate.created"
	// DelegateRevoked: a mandate has been revoked, by any party.
	DelegateRevoked Type = "delegate.revoked"
)

// Test is the type of the events that a merchant sends to its own endpoint to try
// it. They tell of nothing, are in no list, and have empty data.
const Test Type = "webhook.test"

// Types lists the event types that tell of something.
func Types() []Type {
	return []Type{PaymentSucceeded, PaymentFailed, PaymentReversed, DelegateCreated, DelegateRevoked}
}

// Event is what is delivered: one thing that happened, told in Data.
type Event struct {
	ID        string          `json:"id"`
	Type      Type            `json:"type"`
	Data      json.RawMessage `json:"data"`
	CreatedAt time.Time       `json:"created_at"`
	Livemode  bool            `json:"livemode"`
}

// StatusReversed is [Payment].Status in a [PaymentReversed] event. The transaction
// itself stays "succeeded" in the API.
const StatusReversed = "reversed"

// Payment is the data of payment events.
type Payment struct {
	// TransactionID is the charge (txn_…), DelegateID its mandate (del_…).
	TransactionID string `json:"transactionId"`
	DelegateID    string `json:"delegateId"`
	// AmountCents is AmountMicros, rounded up to cents.
	AmountCents  int64 `json:"amountCents"`
	AmountMicros int64 `json:"amountMicros"`
	// Rail is fiatrail (card) or chainrail.
	Rail string `json:"rail,omitempty"`
	// Status is succeeded, failed or [StatusReversed].
	Status string `json:"status"`
	// TxHash is the transaction of a chain payment.
	TxHash string `json:"txHash,omitempty"`
	// FailureReason is empty if the payment succeeded.
	FailureReason string `json:"failureReason,omitempty"`
}

// Delegate is the data of delegate events.
type Delegate struct {
	DelegateID           string    `json:"delegateId"`
	Status               string    `json:"status"`
	MaxPerTxCents        int64     `json:"maxPerTxCents"`
	MaxMonthlySpendCents int64     `json:"maxMonthlySpendCents"`
	Rails                []string  `json:"rails"`
	ExpiresAt            time.Time `json:"expiresAt"`
	// RevokedBy is merchant, user or contract. Only in revocations.
	RevokedBy string `json:"revokedBy,omitempty"`
}
