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
	// DelegateCreated: a person has completed a setup session.
	DelegateCreated Type = "delegate.created"
	// DelegateRevoked: a mandate has been revoked, by whomever.
	DelegateRevoked Type = "delegate.revoked"
)

// Test is the type of the events that a merchant sends to its own endpoint to try
// it. They tell of nothing, are in no list, and have empty data.
const Test Type = "webhook.test"

// Types lists the event types that tell of something.
func Types() []Type {
	return []Type{PaymentSucceeded, PaymentFailed, DelegateCreated, DelegateRevoked}
}

// Event is what is delivered: one thing that happened, told in Data.
type Event struct {
	ID        string          `json:"id"`
	Type      Type            `json:"type"`
	Data      json.RawMessage `json:"data"`
	CreatedAt time.Time       `json:"created_at"`
	Livemode  bool            `json:"livemode"`
}

// Payment is the data of payment events.
type Payment struct {
	TransactionID string `json:"transactionId"`
	DelegateID    string `json:"delegateId"`
	AmountCents   int64  `json:"amountCents"`
	AmountMicros  int64  `json:"amountMicros"`
	Rail          string `json:"rail,omitempty"`
	Status        string `json:"status"`
	TxHash        string `json:"txHash,omitempty"`
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
