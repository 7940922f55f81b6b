package ledger

import (
	"context"
	"fmt"
	"time"
)

// UnwindingKind is the kind of object that an unwinding ends.
type UnwindingKind string

// The kinds of unwindings.
const (
	UnwindMandate UnwindingKind = "mandate" // a revoked mandate: status, key, instruments
	UnwindSession UnwindingKind = "session" // a session: the instruments that led to no mandate
	UnwindHold    UnwindingKind = "hold"    // a voided charge: the amount that its rail holds
	UnwindTab     UnwindingKind = "tab"     // a tab: opened after a crash, closed in time, its draws decided
)

// Unwinding is work outside the ledger, such as ending an instrument on a rail. It is
// written in the transaction that makes it necessary, and retried until it succeeds.
type Unwinding struct {
	// ID is the id of the mandate, the charge or the tab, or the session's hash.
	ID string
	// Kind is the kind of object.
	Kind UnwindingKind
	// Since is the time at which the work became necessary.
	Since time.Time
	// Due is the time of the next attempt.
	Due time.Time
	// Attempts is the number of attempts so far.
	Attempts int
}

// UnwindingBacklog describes the unwindings that are not finished.
type UnwindingBacklog struct {
	// Count is their number.
	Count int64
	// Oldest is the time at which the oldest became necessary; zero if there is none.
	Oldest time.Time
}

// Unwindings stores unwindings between attempts. Each change carries the Due of the row
// that was read, and reports whether it applied: it does nothing if the row has changed.
type Unwindings interface {
	// DueUnwindings returns the unwindings that are due, oldest first.
	DueUnwindings(ctx context.Context, now time.Time, limit int) ([]Unwinding, error)
	// PutOffUnwinding stores the next attempt, u.Since and the number of attempts.
	PutOffUnwinding(ctx context.Context, u Unwinding, due time.Time, attempts int) (bool, error)
	// EndUnwinding deletes a finished unwinding.
	EndUnwinding(ctx context.Context, u Unwinding) (bool, error)
	// UnwindingBacklog counts the unwindings that became necessary before now.
	UnwindingBacklog(ctx context.Context, now time.Time) (UnwindingBacklog, error)
}

// unwindSession returns the unwinding of a session, due now.
func unwindSession(hash string, now time.Time) Unwinding {
	return Unwinding{ID: hash, Kind: UnwindSession, Since: now, Due: now}
}

// Unwinds returns unwindings that are due, each leased to the caller for the given time.
func (l *Ledger) Unwinds(ctx context.Context, lease time.Duration, limit int) ([]Unwinding, error) {
	now := l.clock()
	due, err := l.store.DueUnwindings(ctx, now, limit)
	if err != nil {
		return nil, fmt.Errorf("list unwindings: %w", err)
	}
	var taken []Unwinding
	for _, u := range due {
		until := now.Add(lease).Truncate(time.Millisecond)
		ok, err := l.store.PutOffUnwinding(ctx, u, until, u.Attempts+1)
		if err != nil {
			return taken, fmt.Errorf("lease unwinding: %w", err)
		}
		if ok {
			u.Due, u.Attempts = until, u.Attempts+1
			taken = append(taken, u)
		}
	}
	return taken, nil
}

// Unwound ends an unwinding, or postpones it if next is not zero. It does nothing if the
// unwinding became necessary again in the meantime.
func (l *Ledger) Unwound(ctx context.Context, u Unwinding, next time.Time) error {
	var err error
	if next.IsZero() {
		_, err = l.store.EndUnwinding(ctx, u)
	} else {
		_, err = l.store.PutOffUnwinding(ctx, u, next, u.Attempts)
	}
	if err != nil {
		return fmt.Errorf("end unwinding: %w", err)
	}
	return nil
}

// UnwindingBacklog counts the unwindings that are not finished.
func (l *Ledger) UnwindingBacklog(ctx context.Context) (UnwindingBacklog, error) {
	return l.store.UnwindingBacklog(ctx, l.clock())
}
