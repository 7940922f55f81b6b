// Package ledger is the core: the state machine of setup sessions, mandates and
// charges, the postings that record where money went, and each merchant's stream of events.
//
// Its heart is pure. A command looks at the rows it named and decides what
// changes ([Effects]) and what to answer. It gets the time and reads no socket and no
// database; its only randomness is in the ids of events. All arithmetic is checked
// integer arithmetic in [Micros].
// A [Store] loads and locks the rows, runs the decision, and commits what it
// changed durably or not at all. [Ledger] stands between: it coalesces commands
// that arrive together into one durable commit.
//
//	l, err := ledger.New(ledger.Config{Store: store, Clock: clock})
//	defer l.Close()
//	r, err := l.Reserve(ctx, ledger.Reserve{…})      // the atomic five, counter up, charge pending
//	outcome := …                                     // move the money, outside any transaction
//	charge, err := l.Settle(ctx, r.Charge, …)        // captured with its postings, or released: counter down
//
// A charge goes pending → succeeded or pending → failed, once. Between the two
// steps it has a lease; when the lease has lapsed, whoever finds it finishes it.
//
// The package knows no HTTP, no token and no rail's protocol.
package ledger
