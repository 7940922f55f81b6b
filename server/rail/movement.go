package rail

import (
	"context"
	"errors"
	"time"
)

// Movement is money that a rail has moved, as the card processor or the chain has it.
type Movement struct {
	// Key identifies what the money was moved for; see [Mover.MovementKey].
	Key string
	// Reference is the reference of the charge or refund, if the rail knows it.
	Reference string
	// Amount is the amount that was moved.
	Amount Micros
	// ID is the transaction hash, or the card processor's id.
	ID string
}

// MovementKind is what money was moved for.
type MovementKind string

// The kinds of movements.
const (
	ChargeMovement   MovementKind = "charge"
	RefundMovement   MovementKind = "refund"
	TransferMovement MovementKind = "transfer" // a signed transfer of a [TransferLedger]
	PurchaseMovement MovementKind = "purchase" // what a seller took of a [Buyer]'s session account
	SweepMovement    MovementKind = "sweep"    // what went back from a session account
)

// Mover is a [Rail] that lists what has moved over it.
type Mover interface {
	// MovementKey returns the key of the movements of a reference. The keys of two kinds
	// differ.
	MovementKey(kind MovementKind, reference string) string
	// Movements calls yield with every movement since a time, in any order and in constant
	// memory. Movements that are not final may be missing. It returns the error of yield,
	// and [ErrNotListed].
	Movements(ctx context.Context, since time.Time, yield func(Movement) error) error
}

// ErrNotListed reports that what moved over a rail cannot be listed.
var ErrNotListed = errors.New("rail: movements are not listed")
