package ledger

import (
	"slices"
	"time"
)

// Selection selects charges for an export or a statement.
type Selection struct {
	// MerchantID selects the charges of one payee. Default: of all payees.
	MerchantID string
	// From selects charges from this time on. Default: from the first.
	From time.Time
	// To selects charges before this time. Default: to the last.
	To time.Time
	// Settled selects only charges that succeeded, and compares From and To with the time
	// of settlement. Default: all charges, by the time of creation.
	Settled bool
}

// includes reports whether a time is in the period. The zero time is in none.
func (s Selection) includes(at time.Time) bool {
	return !at.IsZero() && !at.Before(s.From) && (s.To.IsZero() || at.Before(s.To))
}

// Has reports whether a charge itself is in a selection by the time of settlement; others have
// every charge.
func (s Selection) Has(c Charge) bool { return !s.Settled || s.includes(c.SettledAt) }

// Posted returns the postings of a charge that a selection by the time of settlement has: those
// of the charge if it was settled in the period, and those of its refunds that were posted in
// it. Of a purchase that no seller took it has what was posted in the period. What is posted
// later never changes a period that has passed. Other selections have all
// postings of a charge.
func (s Selection) Posted(c Charge, all []Posting) []Posting {
	if !s.Settled {
		return all
	}
	if c.Source == SourceSeller && c.Status == ChargeFailed { // what was moved into the session account all the same
		return slices.DeleteFunc(slices.Clone(all), func(p Posting) bool { return !s.includes(p.At) })
	}
	settled := s.includes(c.SettledAt)
	if settled && c.Refunds == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(p Posting) bool {
		if p.N >= FirstRefundPosting {
			return !s.includes(p.At)
		}
		return !settled
	})
}
