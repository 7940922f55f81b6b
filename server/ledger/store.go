package ledger

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
)

// Store keeps the ledger's rows. It stores and locks; it decides nothing and
// computes nothing. Package ledgertest holds the suite that every Store passes.
type Store interface {
	// Update runs one durable transaction: it loads the rows that keys name,
	// locked in key order, and the charges that the loaded idempotency rows name,
	// which decide does not change; calls decide with those that exist; and saves
	// what decide returns, all or nothing, on stable storage before it returns nil.
	//
	// Events get their places as they are saved, and in what decide returned.
	//
	// decide has no side effects and may be called several times; after a commit
	// whose answer was lost, on a state that holds its own effects. Its error is
	// returned as it is, and nothing is saved. [ErrConflict] where a row to
	// insert exists already: nothing is saved. [ErrUnavailable] where the database
	// could not do it now: whether it was saved is unknown.
	Update(ctx context.Context, keys Keys, decide func(*State) (Effects, error)) error

	// Writers is how many Updates are best run at once.
	Writers() int

	// FreeChargeLeases ends the leases of pending charges that no ledger of the name
	// instance holds, if the store belongs to one process, which is the caller's.
	FreeChargeLeases(ctx context.Context, instance string) error

	// Expire deletes what began before a time and is of no more use, at most limit
	// of each kind, and returns how many: idempotency keys, but for those of charges
	// that are still pending; deliveries, whatever came of them; events, but for
	// those that are still being delivered and the later ones of their mandates; sessions that came to nothing; the sealed
	// tokens of completed ones.
	Expire(ctx context.Context, before time.Time, limit int) (int, error)

	Reader
	Accounts
	Webhooks
	Seals
	Checks
	Unwindings
	Owned

	// Close ends all work and releases the database.
	Close() error
}

// Reader reads what is committed. What it says may be outdated at once: nothing
// that moves money is decided by it. Methods that name one row return
// [ErrNotFound] where it does not exist.
type Reader interface {
	Session(ctx context.Context, hash string) (Session, error)
	Mandate(ctx context.Context, id string) (Mandate, error)
	Charge(ctx context.Context, id string) (Charge, error)
	// Charges lists a payee's charges, newest first, those after the charge with
	// the id before; empty: from the newest on.
	Charges(ctx context.Context, merchantID, before string, limit int) ([]Charge, error)
	// ChargesOfTransaction lists the paywall charges that a rail settled in the
	// transaction with this hash, or under this processor id.
	ChargesOfTransaction(ctx context.Context, transaction string, limit int) ([]Charge, error)
	// OutcomeConflicts lists the conflicts of charges whose id comes after an id, in order.
	OutcomeConflicts(ctx context.Context, after string, limit int) ([]OutcomeConflict, error)
	// Lapsed lists pending charges whose lease ended before a time, oldest lease first,
	// without those that wait for one of the rails in except: see [Charge.Waiting].
	Lapsed(ctx context.Context, before time.Time, except []rail.Name, limit int) ([]Charge, error)
	// MandateCharges lists the latest charges of a mandate, newest first.
	MandateCharges(ctx context.Context, mandateID string, limit int) ([]Charge, error)
	// MandateVolume returns the sum of a mandate's succeeded charges.
	MandateVolume(ctx context.Context, mandateID string) (Micros, error)
	// Checkout finds a checkout by its entropy.
	Checkout(ctx context.Context, entropy string) (Checkout, error)
	// InstrumentsOfMandate lists the instruments of a mandate, whatever their state.
	InstrumentsOfMandate(ctx context.Context, mandateID string) ([]Instrument, error)
	// InstrumentsOfSession lists the instruments that were connected for a session.
	InstrumentsOfSession(ctx context.Context, hash string) ([]Instrument, error)
	// Stats sums a merchant's tallies and counts its mandates that are active at a time.
	Stats(ctx context.Context, merchantID string, now time.Time) (Stats, error)
	// Audit calls check with all that there is, as it was at one moment.
	Audit(ctx context.Context, check func(Audit) error) error
	// Ping tells whether the database answers.
	Ping(ctx context.Context) error
}

// Accounts keeps merchants and keys, which are not money state. Put methods
// insert or replace. Methods that name one row return [ErrNotFound] where it
// does not exist.
type Accounts interface {
	Merchant(ctx context.Context, id string) (Merchant, error)
	// MerchantByKey finds the merchant whose API key has this hash and is not revoked.
	MerchantByKey(ctx context.Context, hash string) (Merchant, error)
	// MerchantByWallet finds the merchant whose proven wallet this is, whatever
	// the case of its digits.
	MerchantByWallet(ctx context.Context, payTo string) (Merchant, error)
	PutMerchant(ctx context.Context, m Merchant) error
	// Merchants lists merchants by id, those after one.
	Merchants(ctx context.Context, after string, limit int) ([]Merchant, error)
	// SetMerchantActive and SetMerchantLimit change one field, and return [ErrNotFound].
	SetMerchantActive(ctx context.Context, id string, active bool) error
	SetMerchantLimit(ctx context.Context, id string, most Micros) error

	// APIKeys lists a merchant's keys, revoked ones too, oldest first.
	APIKeys(ctx context.Context, merchantID string) ([]APIKey, error)
	// APIKeysByHash lists at most two keys whose hash begins with prefix.
	APIKeysByHash(ctx context.Context, prefix string) ([]APIKey, error)
	// AddAPIKey returns [ErrConflict] if the key exists.
	AddAPIKey(ctx context.Context, k APIKey) error
	// RevokeAPIKey reports whether the key was valid until now.
	RevokeAPIKey(ctx context.Context, hash string, at time.Time) (bool, error)

	// AddAudit adds an entry to the audit log.
	AddAudit(ctx context.Context, e AuditEntry) error
	// AuditLog lists entries of the audit log, the latest first, those before the entry
	// with the id before; empty: from the latest on.
	AuditLog(ctx context.Context, before string, limit int) ([]AuditEntry, error)
	// AuditOf lists the entries about a subject, the latest first.
	AuditOf(ctx context.Context, subject string, limit int) ([]AuditEntry, error)

	// SealedKeys lists the keys whose name begins with prefix, oldest first.
	SealedKeys(ctx context.Context, prefix string) ([]SealedKey, error)
	// AddSealedKey returns [ErrConflict] where the name exists.
	AddSealedKey(ctx context.Context, k SealedKey) error
	PutSealedKey(ctx context.Context, k SealedKey) error
	// DeleteSealedKey deletes a key; it is no error where there is none.
	DeleteSealedKey(ctx context.Context, name string) error
}

// Keys name rows.
type Keys struct {
	Sessions    []string
	Mandates    []string
	Charges     []string
	Tallies     []TallyKey
	Idempotency []IdempotencyKey
	Checkouts   []string // by entropy
	Instruments []string // by reference
}

// State holds the rows that were loaded. What is not there does not exist.
type State struct {
	Sessions    map[string]Session
	Mandates    map[string]Mandate
	Charges     map[string]Charge
	Tallies     map[TallyKey]Tally
	Idempotency map[IdempotencyKey]Idempotency
	Checkouts   map[string]Checkout
	Instruments map[string]Instrument
}

// Effects are rows to insert and rows to replace.
type Effects struct {
	Insert Rows
	Update Rows
}

// Rows are whole rows of each kind. Idempotency rows, postings, events and
// conflicts are only ever inserted.
type Rows struct {
	Sessions    []Session
	Mandates    []Mandate
	Charges     []Charge
	Tallies     []Tally
	Idempotency []Idempotency
	Checkouts   []Checkout
	Instruments []Instrument
	Postings    []Posting
	Events      []Event
	// Conflicts are inserted once: one that exists already is left as it is.
	Conflicts []OutcomeConflict
	// Unwindings are inserted, or replace the one of the same id.
	Unwindings []Unwinding
}

// Stats are a merchant's totals.
type Stats struct {
	Volume         Micros
	Count          int64
	ActiveMandates int64
}

// Audit reads one snapshot of the whole ledger. The methods call each for every
// row, and end with its error.
type Audit interface {
	// Counters are the mandates, in id order.
	Counters(ctx context.Context, each func(Counter) error) error
	// Charges are all charges in id order, each with its postings in order. They
	// have the fields that a check needs: ids, amount, fee, month, status and rail.
	// Postings without a charge come with one that has an id alone.
	Charges(ctx context.Context, each func(Charge, []Posting) error) error
	Tallies(ctx context.Context, each func(Tally) error) error
	// Events are mandate, number, type and time of all events, by mandate and number.
	Events(ctx context.Context, each func(Event) error) error

	// CountersOf are the counters of some mandates, in id order.
	CountersOf(ctx context.Context, mandateIDs []string) ([]Counter, error)
	// ChecksOf are what the check has stored of some mandates.
	ChecksOf(ctx context.Context, mandateIDs []string) ([]MandateCheck, error)
	// HeldOf are what the pending charges of some mandates come to.
	HeldOf(ctx context.Context, mandateIDs []string) ([]HeldCharges, error)
	// EventsSince are the events of mandates after a number in each, by mandate and
	// number.
	EventsSince(ctx context.Context, since map[string]int64, limit int) ([]Event, error)
	// ChargesOf are some charges with their postings, as those of Charges.
	ChargesOf(ctx context.Context, ids []string, each func(Charge, []Posting) error) error
}

// Counter is what a mandate counts.
type Counter struct {
	MandateID  string
	Status     MandateStatus
	Month      Month
	Spent      Micros
	MaxMonthly Micros
	EventSeq   int64
}
