// Package failpoint names the moments of a charge, and of the chain rail, at which a
// drill ends the process, as a power cut would.
//
//	failpoint.Hit(failpoint.Reserved)
//
// In a build without the tag "failpoint" a point does nothing and costs nothing.
// With it, the process kills itself with SIGKILL when it comes to the point that
// PAYWARRANT_FAILPOINT names, for the n-th time: "charge-reserved:3". The tag is
// for drills (test/crash); a release is never built with it.
package failpoint

// Point is a moment that a process can be ended at.
type Point string

// The points of a charge, in the order in which one comes to them.
const (
	// Received: a charge is about to be reserved.
	Received Point = "charge-received"
	// BatchTaken: a batch of commands is about to be committed.
	BatchTaken Point = "batch-taken"
	// StoreLoaded: the rows of a batch are locked and read.
	StoreLoaded Point = "store-loaded"
	// StoreDecided: what a batch changes is decided, and nothing of it written.
	StoreDecided Point = "store-decided"
	// StoreCommitted: a batch is on stable storage, and nobody knows.
	StoreCommitted Point = "store-committed"
	// BatchCommitted: the committer knows, and has answered nobody.
	BatchCommitted Point = "batch-committed"
	// Reserved: a charge holds its amount, and no rail was asked.
	Reserved Point = "charge-reserved"
	// RailChosen: one rail is about to be asked.
	RailChosen Point = "rail-chosen"
	// RailAnswered: the rail has answered, or its time was up.
	RailAnswered Point = "rail-answered"
	// Decided: the outcome is known, and not in the ledger.
	Decided Point = "charge-decided"
	// Settled: the outcome is in the ledger, and the caller does not know.
	Settled Point = "charge-settled"
	// PutOff: the outcome is unknown, and recovery will ask later.
	PutOff Point = "charge-put-off"
	// Lapsed: recovery has found a charge that somebody left.
	Lapsed Point = "recovery-found"
	// Leased: recovery holds its lease, and has asked nobody.
	Leased Point = "recovery-leased"
	// Recovered: recovery has finished it.
	Recovered Point = "recovery-finished"
)

// Points are those of a charge; each drill that charges owes them.
func Points() []Point {
	return []Point{
		Received, BatchTaken, StoreLoaded, StoreDecided, StoreCommitted, BatchCommitted, Reserved, RailChosen, RailAnswered,
		Decided, Settled, PutOff, Lapsed, Leased, Recovered,
	}
}
