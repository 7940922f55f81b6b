package store

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// MaxSearched limits the charges that one search reads.
const MaxSearched = 5000

// ChargeFilter selects charges of a payee. Fields with the zero value select all.
type ChargeFilter struct {
	// MerchantID is the payee. Required.
	MerchantID string
	// Status is the state of the charges.
	Status ledger.ChargeStatus
	// Rail is the rail that decided the charges.
	Rail rail.Name
	// Reason is the reason for which the charges failed.
	Reason rail.Reason
	// MandateID is the mandate that was charged.
	MandateID string
	// Reference is the card processor's id, the transaction on the chain, or the tab.
	Reference string
	// From selects charges that were created at this time or later.
	From time.Time
	// To selects charges that were created before this time.
	To time.Time
	// Before is the id of a charge: only older ones are selected.
	Before string
	// Limit is the most charges to return. Required.
	Limit int
}

// ChargeTotal sums the charges of a payee that were created on one day and ended alike.
type ChargeTotal struct {
	// Day is the beginning of the day, in UTC.
	Day time.Time
	// Status, Rail and Reason are those of the charges.
	Status ledger.ChargeStatus
	// Rail is the rail that decided the charges; empty if none has.
	Rail rail.Name
	// Reason is the reason for which the charges failed.
	Reason rail.Reason
	// Count is the number of charges.
	Count int64
	// Amount is the sum of the amounts.
	Amount ledger.Micros
	// Refunded is the sum of their refunds that succeeded.
	Refunded ledger.Micros
	// Fees is the sum of the fees.
	Fees ledger.Micros
}

// Reports reads what dashboards show. Its results may be outdated at once: no decision about
// money rests on them.
type Reports interface {
	// SearchCharges lists the selected charges, newest first. It reads at most [MaxSearched]
	// charges of the payee, so it may return fewer than there are: more is then the value of
	// Before that continues the search. An empty more says that there are no others.
	SearchCharges(ctx context.Context, f ChargeFilter) (found []ledger.Charge, more string, err error)
	// ChargeTotals sums a payee's charges from one time until before another, in the order of
	// the days.
	ChargeTotals(ctx context.Context, merchantID string, from, to time.Time) ([]ChargeTotal, error)
	// MandatesOf lists the mandates that a merchant asked for, newest first, beginning after
	// the mandate with the id before, or with the newest if before is empty.
	MandatesOf(ctx context.Context, merchantID, before string, limit int) ([]ledger.Mandate, error)
	// UsableMandatesOf lists those of them that are active and not expired at a time, newest
	// first.
	UsableMandatesOf(ctx context.Context, merchantID string, now time.Time, limit int) ([]ledger.Mandate, error)
	// MerchantsByEmail lists the merchants with an email address, at most limit, oldest first.
	// It ignores the case of the address.
	MerchantsByEmail(ctx context.Context, email string, limit int) ([]ledger.Merchant, error)
}
