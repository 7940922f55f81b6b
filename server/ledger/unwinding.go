package ledger

import (
	"context"
	"fmt"
	"time"
)

// UnwindingKind is what an unwinding is of.
type UnwindingKind string

// The kinds of unwindings.
const (
	UnwindMandate UnwindingKind = "mandate" // a revoked mandate: status, key, instruments
	UnwindSession UnwindingKind = "session" // a session: the instruments that led to no mandate
)

// Unwinding is work outside of the ledger that has still to be done, written with
// what makes it necessary. It is repeated until it has succeeded.
type Unwinding struct {
	ID       string // of the mandate, or the session's hash
	Kind     UnwindingKind
	Since    time.Time // when it became necessary
	Due      time.Time // when it is tried next
	Attempts int
}

// UnwindingBacklog is how much is to be unwound, and since when.
type UnwindingBacklog struct {
	Count  int64
	Oldest time.Time // zero if there is none
}

// Unwindings keeps unwindings between their attempts. Each change names the Due of the
// row that was read, and does nothing if another one has changed it: it reports whether it did.
type Unwindings interface {
	// DueUnwindings lists those that are due at a time, the oldest first.
	DueUnwindings(ctx context.Context, now time.Time, limit int) ([]Unwinding, error)
	// PutOffUnwinding sets when it is tried next, its Since and its attempts.
	PutOffUnwinding(ctx context.Context, u Unwinding, due time.Time, attempts int) (bool, error)
	// EndUnwinding deletes one that is done.
	EndUnwinding(ctx context.Context, u Unwinding) (bool, error)
	// UnwindingBacklog counts those that have been necessary since before a time.
	UnwindingBacklog(ctx context.Context, now time.Time) (UnwindingBacklog, error)
}

// unwindSession is the unwinding of a session, due now.
func unwindSession(hash string, now time.Time) Unwinding {
	return Unwinding{ID: hash, Kind: UnwindSession, Since: now, Due: now}
}

// Unwinds returns those unwindings that are due, each leased to the caller until a time.
func (l *Ledger) Unwinds(ctx context.Context, lease time.Duration, limit int) ([]Unwinding, error) {
	now := l.clock.Now()
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

// Unwound ends an unwinding, or puts it off until a time that is not zero. It does
// nothing if the unwinding was made necessary again in the meantime.
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

// UnwindingBacklog counts what is to be unwound now.
func (l *Ledger) UnwindingBacklog(ctx context.Context) (UnwindingBacklog, error) {
	return l.store.UnwindingBacklog(ctx, l.clock.Now())
}
