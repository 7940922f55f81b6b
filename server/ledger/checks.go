package ledger

import (
	"context"
	"time"
)

// Checks keeps the progress of the incremental check, and leases of work that one
// instance does for all. Nothing here is money state.
type Checks interface {
	// TakeWork gives the work of a name to owner until a time, unless another owner
	// holds it, and returns the cursor that the last one left.
	TakeWork(ctx context.Context, name, owner string, now, until time.Time) (cursor string, taken bool, err error)
	// LeaveWork gives it back with a cursor. It does nothing if owner has lost it.
	LeaveWork(ctx context.Context, name, owner, cursor string) error

	// UncheckedStreams lists streams with events that were not checked, by merchant,
	// those after a merchant.
	UncheckedStreams(ctx context.Context, after string, limit int) ([]StreamCheck, error)
	// StreamMandates lists the mandates of a merchant's events after an offset in its
	// stream, in the order of the stream: of each event its offset and its mandate.
	StreamMandates(ctx context.Context, merchantID string, after int64, limit int) ([]Event, error)
	// MandatesAfter lists ids of mandates, in their order.
	MandatesAfter(ctx context.Context, id string, limit int) ([]string, error)
	// FaultyMandates lists mandates in which the check has found a fault.
	FaultyMandates(ctx context.Context, limit int) ([]string, error)
	// SaveChecks stores how far the check has come, in one transaction.
	SaveChecks(ctx context.Context, mandates []MandateCheck, streams []StreamCheck) error

	// Backlog returns how many charges are pending, and when the oldest of them began.
	Backlog(ctx context.Context) (pending int, oldest time.Time, err error)
	// Now is the time of the database, or of this machine if the database is a file on it.
	Now(ctx context.Context) (time.Time, error)
}

// MandateCheck is what the check has added up of a mandate, up to one of its events.
type MandateCheck struct {
	MandateID string
	Seq       int64 // of the last event that was checked
	Month     Month
	Settled   Micros // succeeded charges of Month, among those events
	Revoked   bool
	Fault     string // what was wrong at the last check; empty: nothing
	CheckedAt time.Time
}

// StreamCheck is how far a merchant's stream of events was checked.
type StreamCheck struct {
	MerchantID string
	Offset     int64 // of the last event that was checked
	End        int64 // of the last event
}

// HeldCharges are what a mandate's pending charges of a month come to.
type HeldCharges struct {
	MandateID string
	Month     Month
	Amount    Micros
}
