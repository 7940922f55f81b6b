package ledger

import (
	"context"
	"time"
)

// Checks stores the progress of the incremental check, and leases of work that one
// instance does for all. None of it decides about money.
type Checks interface {
	// TakeWork leases the named work to owner until a time, unless another owner holds the
	// lease. It returns the cursor that the last owner stored.
	TakeWork(ctx context.Context, name, owner string, now, until time.Time) (cursor string, taken bool, err error)
	// LeaveWork ends a lease and stores a cursor. It does nothing if owner has lost the lease.
	LeaveWork(ctx context.Context, name, owner, cursor string) error

	// UncheckedStreams returns the streams that have unchecked events in the order of their
	// merchants, beginning after a merchant.
	UncheckedStreams(ctx context.Context, after string, limit int) ([]StreamCheck, error)
	// StreamMandates returns the events of a merchant's stream after an offset, in order,
	// with only their offset and mandate set.
	StreamMandates(ctx context.Context, merchantID string, after int64, limit int) ([]Event, error)
	// MandatesAfter returns ids of mandates in order, beginning after an id.
	MandatesAfter(ctx context.Context, id string, limit int) ([]string, error)
	// FaultyMandates returns the mandates with a stored fault.
	FaultyMandates(ctx context.Context, limit int) ([]string, error)
	// SaveChecks stores the progress of the check in one transaction.
	SaveChecks(ctx context.Context, mandates []MandateCheck, streams []StreamCheck) error

	// Backlog returns the number of pending charges and the time since which the oldest is
	// pending. A capture counts from its lease until recovery has asked its rail ten times.
	Backlog(ctx context.Context) (pending int, oldest time.Time, err error)
	// Now returns the time of the database; for a file, that of this machine.
	Now(ctx context.Context) (time.Time, error)
}

// MandateCheck is the progress of the check of a mandate: the sums up to one of its events.
type MandateCheck struct {
	// MandateID identifies the mandate.
	MandateID string
	// Seq is the number of the last checked event.
	Seq int64
	// Settled are the mandate's windows with what the checked charges that succeeded use.
	Settled []Window
	// Revoked reports whether the revocation was checked.
	Revoked bool
	// Fault describes the fault of the last check; empty if there was none.
	Fault string
	// CheckedAt is the time of the last check.
	CheckedAt time.Time
}

// StreamCheck is the progress of the check of a merchant's event stream.
type StreamCheck struct {
	// MerchantID identifies the merchant.
	MerchantID string
	// Offset is the offset of the last checked event.
	Offset int64
	// End is the offset of the last event.
	End int64
}

// HeldCharges is the sum of a mandate's pending and authorized charges of a day.
type HeldCharges struct {
	// MandateID identifies the mandate.
	MandateID string
	// Day is the day of the charges.
	Day Day
	// Amount is the sum.
	Amount Micros
	// Count is the number of the charges.
	Count int64
}
