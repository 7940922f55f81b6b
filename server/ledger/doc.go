// Package ledger is the core: the state machine of setup sessions, mandates and
// charges, the postings that record where money went, and each merchant's stream of events.
//
// Decisions are pure functions. A command reads the rows that it named, and returns the
// changes ([Effects]) and a result. It is given the time and performs no I/O; only the ids
// of events are random. All arithmetic is checked integer arithmetic in [Micros].
//
// A [Store] loads and locks the rows, runs the decision, and commits its effects durably
// or not at all. [Ledger] coalesces concurrent commands into one durable commit.
//
//	l, err := ledger.New(ledger.Config{Store: store, Clock: clock})
//	defer l.Close()
//	r, err := l.Reserve(ctx, ledger.Reserve{…})      // all rules checked, amount held, charge pending
//	outcome := …                                     // move the money, outside any transaction
//	charge, err := l.Settle(ctx, r.Charge, …)        // captured with its postings, or released
//
// A charge changes from pending to succeeded or failed, once. In between it is leased. When
// the lease expires, any instance finishes the charge.
//
// The package knows no HTTP, no tokens and no protocol of a rail.
package ledger
