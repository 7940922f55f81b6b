// Package failpoint names the points of a charge, of the chain rail and of a delivery at
// which a drill ends the process, as a power failure would.
//
//	failpoint.Hit(failpoint.Reserved)
//
// In a build without the tag "failpoint" a point does nothing and costs nothing.
// With it, the process kills itself with SIGKILL when it reaches the point that
// PAYWARRANT_FAILPOINT names for the n-th time, as in "charge-reserved:3". The tag is for
// drills (test/crash). Releases are never built with it.
package failpoint

// Point is a point at which a process can be ended.
type Point string

// The points of a charge, in the order in which a charge passes them.
const (
	// Received: a charge is about to be reserved.
	Received Point = "charge-received"
	// BatchTaken: a batch of commands is about to be committed.
	BatchTaken Point = "batch-taken"
	// StoreLoaded: the rows of a batch are locked and read.
	StoreLoaded Point = "store-loaded"
	// StoreDecided: the changes of a batch are decided; none is written yet.
	StoreDecided Point = "store-decided"
	// StoreCommitted: a batch is on stable storage; the committer does not know yet.
	StoreCommitted Point = "store-committed"
	// BatchCommitted: the committer knows; it has answered no caller yet.
	BatchCommitted Point = "batch-committed"
	// Reserved: a charge holds its amount; no rail was asked yet.
	Reserved Point = "charge-reserved"
	// RailChosen: a rail is about to be asked.
	RailChosen Point = "rail-chosen"
	// RailAnswered: the rail has answered, or its time has run out.
	RailAnswered Point = "rail-answered"
	// Decided: the outcome is known; it is not in the ledger yet.
	Decided Point = "charge-decided"
	// Settled: the outcome is in the ledger; the caller does not know yet.
	Settled Point = "charge-settled"
	// CaptureBegun: a capture has given back the rest; its rail was not asked yet.
	CaptureBegun Point = "capture-begun"
	// VoidRecorded: the ledger has voided a charge; its rail was not asked yet.
	VoidRecorded Point = "void-recorded"
	// HoldExpired: the ledger has voided an expired charge; its rail was not asked yet.
	HoldExpired Point = "hold-expired"
	// HoldReleased: the rail of a voided charge has released its hold; the ledger does not
	// know yet.
	HoldReleased Point = "hold-released"
	// RefundBegun: a refund is stored; its rail was not asked yet.
	RefundBegun Point = "refund-begun"
	// RefundDecided: the outcome of a refund is known; it is not in the ledger yet.
	RefundDecided Point = "refund-decided"
	// SettlementBegun: the ledger has a signed transfer; its rail has not stored it yet.
	SettlementBegun Point = "settlement-begun"
	// SettlementRecorded: the ledger has its outcome; the caller does not know yet.
	SettlementRecorded Point = "settlement-recorded"
	// TabBegun: a tab is stored; the card was not asked for its block yet.
	TabBegun Point = "tab-begun"
	// TabHeld: the card holds the block, or refused it; the ledger does not know yet.
	TabHeld Point = "tab-held"
	// TabOpened: the ledger knows; no draw was made yet.
	TabOpened Point = "tab-opened"
	// Drawn: a draw is in the ledger; the caller does not know yet.
	Drawn Point = "tab-drawn"
	// TabClosing: a tab takes no more draws; its rail was not asked yet.
	TabClosing Point = "tab-closing"
	// TabDecided: the rail has captured or voided the block; the ledger does not know yet.
	TabDecided Point = "tab-decided"
	// TabSettled: the ledger knows; the draws are not decided yet.
	TabSettled Point = "tab-settled"
	// DrawsSettled: some draws of a tab are decided, or all, and the tab is closed.
	DrawsSettled Point = "tab-draws-settled"
	// PutOff: the outcome is unknown; recovery will ask later.
	PutOff Point = "charge-put-off"
	// Lapsed: recovery has found a charge whose lease expired.
	Lapsed Point = "recovery-found"
	// Leased: recovery holds its lease; it has asked no rail yet.
	Leased Point = "recovery-leased"
	// Recovered: recovery has finished it.
	Recovered Point = "recovery-finished"
)

// HoldPoints returns the points of charges in two steps alone.
func HoldPoints() []Point { return []Point{CaptureBegun, VoidRecorded, HoldExpired, HoldReleased} }

// RefundPoints returns the points of refunds.
func RefundPoints() []Point { return []Point{RefundBegun, RefundDecided} }

// SettlementPoints returns the points of signed transfers in the ledger.
func SettlementPoints() []Point { return []Point{SettlementBegun, SettlementRecorded} }

// TabPoints returns the points of tabs.
func TabPoints() []Point {
	return []Point{TabBegun, TabHeld, TabOpened, Drawn, TabClosing, TabDecided, TabSettled, DrawsSettled}
}

// Points returns the points of a charge. Every drill that charges must reach them.
func Points() []Point {
	return []Point{
		Received, BatchTaken, StoreLoaded, StoreDecided, StoreCommitted, BatchCommitted, Reserved, RailChosen, RailAnswered,
		Decided, Settled, PutOff, Lapsed, Leased, Recovered,
	}
}
