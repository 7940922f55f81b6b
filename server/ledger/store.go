package ledger

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
)

// Store stores the ledger's rows. It locks them, and neither decides nor computes. Package
// ledgertest has the suite that every Store passes. The service's whole database is a
// store.Store.
type Store interface {
	// Update runs one durable transaction: it loads the rows that keys name,
	// locked in key order, and the charges that the loaded idempotency rows name,
	// which decide does not change; calls decide with those that exist; and saves
	// what decide returns, all or nothing, on stable storage before it returns nil.
	//
	// Update assigns each event's StreamOffset, and writes it back into the Effects.
	//
	// decide has no side effects and may be called several times; after a commit whose
	// result was lost, on a state that includes its own effects. Update returns decide's
	// error unchanged, and nothing is saved. It returns [ErrConflict] if a row to insert
	// exists; nothing is saved. It returns [ErrUnavailable] if the database failed; it is
	// unknown whether the effects were saved.
	Update(ctx context.Context, keys Keys, decide func(*State) (Effects, error)) error

	// Writers returns the best number of concurrent Updates.
	Writers() int

	// FreeChargeLeases ends all leases of pending charges and refunds and of opening tabs but
	// those of instance, if the store belongs to the caller's process alone.
	FreeChargeLeases(ctx context.Context, instance string) error

	// Expire deletes rows from before a time, at most limit of each kind, and returns
	// their number: idempotency keys except those of pending charges; deliveries; events
	// except those that are still being delivered and the later ones of their mandates;
	// failed sessions; the sealed tokens of completed sessions; and entries of the audit log
	// except those of operators.
	Expire(ctx context.Context, before time.Time, limit int) (int, error)

	Reader
	Checks
	Unwindings
	Owned

	// Close ends all work and releases the database.
	Close() error
}

// Reader reads committed rows. Its results may be outdated at once: no decision about money
// rests on them. Methods that name one row return [ErrNotFound] if it does not exist.
type Reader interface {
	// Session returns a session by the hash of its token.
	Session(ctx context.Context, hash string) (Session, error)
	// Mandate returns a mandate.
	Mandate(ctx context.Context, id string) (Mandate, error)
	// Charge returns a charge.
	Charge(ctx context.Context, id string) (Charge, error)
	// Charges lists a payee's charges, newest first, beginning after the charge with the id
	// before, or with the newest if before is empty.
	Charges(ctx context.Context, merchantID, before string, limit int) ([]Charge, error)
	// ChargesOfTransaction lists the paywall charges that a rail settled in the
	// transaction with this hash, or under this processor id.
	ChargesOfTransaction(ctx context.Context, transaction string, limit int) ([]Charge, error)
	// OutcomeConflicts lists conflicts in the order of their keys, beginning after the
	// conflict after, or with the first if after is zero. A charge may have several.
	OutcomeConflicts(ctx context.Context, after OutcomeConflict, limit int) ([]OutcomeConflict, error)
	// Reversed reports whether a rail took back the payment of a charge: whether it has an
	// [OutcomeConflict] with the status [Reversed].
	Reversed(ctx context.Context, chargeID string) (bool, error)
	// Lapsed lists pending charges whose lease ended before a time, oldest lease first,
	// without those that wait for one of the rails in except: see [Charge.Waiting].
	Lapsed(ctx context.Context, before time.Time, except []rail.Name, limit int) ([]Charge, error)
	// ExpiredHolds lists authorized charges whose time has passed, oldest first.
	ExpiredHolds(ctx context.Context, now time.Time, limit int) ([]Charge, error)
	// MandateCharges lists the latest charges of a mandate, newest first, without draws: see
	// MandateTabs.
	MandateCharges(ctx context.Context, mandateID string, limit int) ([]Charge, error)
	// MandateHeld returns the sum of a mandate's charges that a rail holds and may still
	// capture.
	MandateHeld(ctx context.Context, mandateID string, on rail.Name) (Micros, error)
	// RefundOf returns a refund of a charge.
	RefundOf(ctx context.Context, chargeID, id string) (Refund, error)
	// RefundsOf lists the refunds of a charge, oldest first, beginning after the refund with
	// the number after. A charge has at most [MaxRefunds], or more if it is from before that
	// limit.
	RefundsOf(ctx context.Context, chargeID string, after, limit int) ([]Refund, error)
	// LapsedRefunds lists pending refunds whose lease ended before a time, oldest lease first,
	// without those of the rails in except.
	LapsedRefunds(ctx context.Context, before time.Time, except []rail.Name, limit int) ([]Refund, error)
	// MandateVolume returns what the payer of a mandate has paid: the sum of its succeeded charges
	// without what was refunded and what it owes for tabs, and with what was captured above a sum.
	MandateVolume(ctx context.Context, mandateID string) (Micros, error)
	// Spent sums the charges of a mandate that count in its windows, by payee and day. A refund on
	// the chain frees its amount here.
	Spent(ctx context.Context, mandateID string) ([]Spent, error)
	// Tab returns a tab.
	Tab(ctx context.Context, id string) (Tab, error)
	// Tabs lists a payee's tabs, newest first, beginning after the tab with the id before, or
	// with the newest if before is empty.
	Tabs(ctx context.Context, merchantID, before string, limit int) ([]Tab, error)
	// MandateTabs lists the latest tabs of a mandate, newest first.
	MandateTabs(ctx context.Context, mandateID string, limit int) ([]Tab, error)
	// CurrentTabs lists the tabs of a mandate that are opening or open.
	CurrentTabs(ctx context.Context, mandateID string) ([]Tab, error)
	// Advances returns the most that the operator may have to advance for the tabs of a payee:
	// what payers owe it whose tabs close, or closed since a time, and for each tab that may be
	// captured what it owes, or [CardMinimum] if its sum is below that.
	Advances(ctx context.Context, merchantID string, since time.Time) (Micros, error)
	// PaidBy returns the id of the tab that captured what the operator had advanced for a draw
	// that was written off. A tab that has captured does not change, so the answer is final.
	PaidBy(ctx context.Context, draw Charge) (tabID string, err error)
	// Draws lists a tab's charges, oldest first, beginning after the charge with the id after.
	Draws(ctx context.Context, tabID, after string, limit int) ([]Charge, error)
	// Checkout finds a checkout by its entropy.
	Checkout(ctx context.Context, entropy string) (Checkout, error)
	// InstrumentsOfMandate lists the instruments of a mandate, whatever their state.
	InstrumentsOfMandate(ctx context.Context, mandateID string) ([]Instrument, error)
	// InstrumentsOfSession lists the instruments that were connected for a session.
	InstrumentsOfSession(ctx context.Context, hash string) ([]Instrument, error)
	// Event returns an event.
	Event(ctx context.Context, id string) (Event, error)
	// Events lists a merchant's events since a time, the end of their stream first, at
	// offsets below before (zero: from the end on) and above after.
	Events(ctx context.Context, merchantID string, since time.Time, before, after int64, limit int) ([]Event, error)
	// StreamEvents lists a merchant's events after an offset of their stream, in order.
	StreamEvents(ctx context.Context, merchantID string, after int64, limit int) ([]Event, error)
	// Stats sums a merchant's tallies and counts its mandates that are active at a time.
	Stats(ctx context.Context, merchantID string, now time.Time) (Stats, error)
	// Audit calls check with a snapshot of all rows.
	Audit(ctx context.Context, check func(Audit) error) error
	// Ping returns an error if the database does not answer.
	Ping(ctx context.Context) error
}

// Keys names the rows that a command needs.
type Keys struct {
	// Sessions are named by the hash of their token.
	Sessions []string
	// Mandates are named by id.
	Mandates []string
	// Charges are named by id.
	Charges []string
	// Tallies are named by mandate and payee.
	Tallies []TallyKey
	// Idempotency rows are named by merchant, kind and key.
	Idempotency []IdempotencyKey
	// Checkouts are named by entropy.
	Checkouts []string
	// Instruments are named by reference.
	Instruments []string
	// Refunds are named by id.
	Refunds []string
	// Tabs are named by mandate and payee: all of theirs that are not closed.
	Tabs []TallyKey
}

// State holds the loaded rows by their keys. A row that is missing does not exist.
type State struct {
	// Sessions holds the loaded sessions.
	Sessions map[string]Session
	// Mandates holds the loaded mandates.
	Mandates map[string]Mandate
	// Charges holds the loaded charges, and those of loaded idempotency rows.
	Charges map[string]Charge
	// Tallies holds the loaded tallies.
	Tallies map[TallyKey]Tally
	// Idempotency holds the loaded idempotency rows.
	Idempotency map[IdempotencyKey]Idempotency
	// Checkouts holds the loaded checkouts.
	Checkouts map[string]Checkout
	// Instruments holds the loaded instruments.
	Instruments map[string]Instrument
	// Refunds holds the loaded refunds.
	Refunds map[string]Refund
	// Tabs holds the loaded tabs by id.
	Tabs map[string]Tab
}

// Effects are the changes that a command makes.
type Effects struct {
	// Insert holds new rows.
	Insert Rows
	// Update holds rows that replace stored ones.
	Update Rows
}

// Rows holds whole rows of each kind.
type Rows struct {
	// Sessions are setup sessions.
	Sessions []Session
	// Mandates are mandates.
	Mandates []Mandate
	// Charges are charges.
	Charges []Charge
	// Tallies are totals of one payee under one mandate.
	Tallies []Tally
	// Idempotency rows are only inserted.
	Idempotency []Idempotency
	// Checkouts are checkouts.
	Checkouts []Checkout
	// Instruments are payment methods on their rails.
	Instruments []Instrument
	// Refunds are refunds of charges.
	Refunds []Refund
	// Tabs are blocks that cards hold for draws.
	Tabs []Tab
	// Postings are only inserted.
	Postings []Posting
	// Events are only inserted.
	Events []Event
	// Conflicts are only inserted. A conflict that exists does not change.
	Conflicts []OutcomeConflict
	// Unwindings are inserted, or replace the unwinding with the same id.
	Unwindings []Unwinding
}

// Stats holds a merchant's totals.
type Stats struct {
	// Volume is the sum of the charges that succeeded.
	Volume Micros
	// Refunded is the sum of the refunds that succeeded.
	Refunded Micros
	// Count is their number.
	Count int64
	// ActiveMandates is the number of mandates that are active and have not expired.
	ActiveMandates int64
}

// Audit reads one snapshot of the whole ledger. Its methods call each for every row, and
// return the first error of each.
type Audit interface {
	// Counters reads the spending of all mandates in the order of their ids.
	Counters(ctx context.Context, each func(Counter) error) error
	// Charges reads all charges in the order of their ids, each with its postings in
	// order. Only ids, amount, fee, day, status, step, rail, source and what was refunded
	// are set. Postings without a charge, such as those of tabs, come with a charge that
	// has only an id.
	Charges(ctx context.Context, each func(Charge, []Posting) error) error
	// Refunds reads the ids, charge, amount, status, rail and time of settlement of all
	// refunds in the order of their ids.
	Refunds(ctx context.Context, each func(Refund) error) error
	// Tabs reads all tabs in the order of their ids.
	Tabs(ctx context.Context, each func(Tab) error) error
	// Sweeps reads the postings of all sweeps in the order of their ids.
	Sweeps(ctx context.Context, each func(Posting) error) error
	// Tallies reads all tallies.
	Tallies(ctx context.Context, each func(Tally) error) error
	// Events reads the mandate, number, type and time of all events, by mandate and number.
	Events(ctx context.Context, each func(Event) error) error

	// CountersOf returns the spending of mandates in the order of their ids.
	CountersOf(ctx context.Context, mandateIDs []string) ([]Counter, error)
	// ChecksOf returns the stored checks of mandates.
	ChecksOf(ctx context.Context, mandateIDs []string) ([]MandateCheck, error)
	// HeldOf returns the sums of the pending and authorized charges of mandates, for each day.
	HeldOf(ctx context.Context, mandateIDs []string) ([]HeldCharges, error)
	// EventsSince returns the events of mandates after a number in each, by mandate and
	// number.
	EventsSince(ctx context.Context, since map[string]int64, limit int) ([]Event, error)
	// ChargesOf reads charges with their postings, like Charges.
	ChargesOf(ctx context.Context, ids []string, each func(Charge, []Posting) error) error

	// Selected reads the selected charges in the order of their ids, with all fields.
	Selected(ctx context.Context, s Selection, each func(Charge) error) error
	// SelectedPostings reads the selected charges like Selected, each with its postings in
	// order: see [Selection.Posted]. A selection by the time of settlement also has the charges
	// of which a refund was posted in the period.
	SelectedPostings(ctx context.Context, s Selection, each func(Charge, []Posting) error) error
}

// Counter holds the fields of a mandate that a check needs; see [Mandate].
type Counter struct {
	// MandateID identifies the mandate.
	MandateID string
	// Status is the mandate's state.
	Status MandateStatus
	// Windows are the mandate's windows.
	Windows []Window
	// Payees reports whether the mandate limits what one payee receives.
	Payees bool
	// EventSeq is the number of the mandate's last event.
	EventSeq int64
}
