package ledger

import "time"

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
