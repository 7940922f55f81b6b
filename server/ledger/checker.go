package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/sleep"
)

// The sizes of an incremental check. Each batch is read in its own snapshot, which lasts
// some milliseconds; the check then pauses for as long as the batch took.
const (
	checkMandates = 200  // mandates in a batch
	checkEvents   = 2000 // events in a batch, and entries of a stream read at a time
	checkSweep    = 500  // mandates that a round checks although they have no new events
	checkStreams  = 200  // streams listed at a time
)

// recheckAfter is the age at which the stored result of an unchanged mandate is stored
// again.
const recheckAfter = 24 * time.Hour

// Checker checks the changes of a ledger. It follows the event streams and stores its
// offsets, so each event is checked once, by any instance: its charge, the charge's
// postings, and the spending of its mandate. In each round it also checks some mandates
// without new events, in turn.
//
// If the first events of a mandate were deleted before any check, the checker accepts the
// stored spending, and checks the changes from then on. [Check] checks everything.
type Checker struct {
	// Follow is called with each part of a merchant's stream that was checked, at least
	// once, before its end is stored. An error ends the round, and the part is read again.
	// Nil: it is not called.
	Follow func(ctx context.Context, merchantID string, after, through int64) error

	store  Store
	clock  func() time.Time
	cursor string // the last mandate that was checked in turn
}

// NewChecker returns a checker of a store.
func NewChecker(store Store, clock func() time.Time) *Checker {
	return &Checker{store: store, clock: clock}
}

// Changed runs one round of the check. Mandates with a fault are checked again in each
// round until the fault is repaired. Its errors are those of the store.
func (c *Checker) Changed(ctx context.Context) (Report, error) {
	return c.round(ctx, func(context.Context) error { return nil })
}

// round implements Changed. It calls proceed before each batch, and ends with its error.
func (c *Checker) round(ctx context.Context, proceed func(context.Context) error) (Report, error) {
	r := &round{Checker: c, proceed: proceed, horizon: c.clock().Add(-Keep)}
	err := inTurn(
		func() error { return r.again(ctx) },
		func() error { return r.streams(ctx) },
		func() error { return r.sweep(ctx) },
	)
	if err != nil {
		return r.Report, fmt.Errorf("check ledger: %w", err)
	}
	return r.Report, nil
}

// round is one round of a [Checker].
type round struct {
	*Checker
	Report

	proceed func(context.Context) error
	horizon time.Time
	seen    map[string]bool // faulty mandates that this round has checked
}

// again checks the mandates with stored faults.
func (r *round) again(ctx context.Context) error {
	faulty, err := r.store.FaultyMandates(ctx, MaxFaults)
	if err != nil {
		return err
	}
	r.seen = map[string]bool{}
	for _, id := range faulty {
		r.seen[id] = true
	}
	return r.batches(ctx, faulty)
}

// streams follows every stream to its end.
func (r *round) streams(ctx context.Context) error {
	for after := ""; ; {
		behind, err := r.store.UncheckedStreams(ctx, after, checkStreams)
		if err != nil {
			return err
		}
		for _, s := range behind {
			if err := r.stream(ctx, s); err != nil {
				return err
			}
			after = s.MerchantID
		}
		if len(behind) < checkStreams {
			return nil
		}
	}
}

// stream checks the mandates of one stream's events, page by page.
func (r *round) stream(ctx context.Context, s StreamCheck) error {
	for s.Offset < s.End {
		page, err := r.store.StreamMandates(ctx, s.MerchantID, s.Offset, checkEvents)
		if err != nil {
			return err
		}
		var ids []string
		after := s.Offset
		for _, e := range page {
			if !r.seen[e.MandateID] {
				ids = append(ids, e.MandateID)
			}
			s.Offset = e.StreamOffset
		}
		if len(page) < checkEvents {
			s.Offset = max(s.Offset, s.End) // retention may have deleted the rest
		}
		slices.Sort(ids)
		if err := r.batches(ctx, slices.Compact(ids)); err != nil {
			return err
		}
		if r.Follow != nil {
			if err := r.Follow(ctx, s.MerchantID, after, s.Offset); err != nil {
				return err
			}
		}
		if err := r.store.SaveChecks(ctx, nil, []StreamCheck{s}); err != nil {
			return err
		}
	}
	return nil
}

// sweep checks the next mandates in turn.
func (r *round) sweep(ctx context.Context) error {
	ids, err := r.store.MandatesAfter(ctx, r.cursor, checkSweep)
	if err != nil {
		return err
	}
	next := ""
	if len(ids) == checkSweep {
		next = ids[len(ids)-1]
	}
	ids = slices.DeleteFunc(ids, func(id string) bool { return r.seen[id] })
	if err := r.batches(ctx, ids); err != nil {
		return err
	}
	r.cursor = next
	return nil
}

// batches checks mandates in batches, each mandate up to its last event.
func (r *round) batches(ctx context.Context, ids []string) error {
	for len(ids) > 0 {
		if err := r.proceed(ctx); err != nil {
			return err
		}
		began, n := time.Now(), min(len(ids), checkMandates)
		b := &batch{Report: &r.Report, horizon: r.horizon, now: r.clock()}
		err := r.store.Audit(ctx, func(a Audit) error {
			if err := b.read(ctx, a, ids[:n]); err != nil {
				return err
			}
			b.check()
			return nil
		})
		if err == nil && len(b.checked) > 0 {
			err = r.store.SaveChecks(ctx, b.checked, nil)
		}
		if err != nil {
			return err
		}
		ids = append(b.unfinished, ids[n:]...)
		if err := sleep.For(ctx, time.Since(began)); err != nil {
			return err
		}
	}
	return nil
}

// ErrWorkLost reports that another instance has taken over the work.
var ErrWorkLost = errors.New("ledger: another instance does this work now")

// Checking is the name of the checker's lease.
const Checking = "check"

// Lead runs a round unless another instance does, under a lease that it extends before
// each batch. It reports whether it ran.
func (c *Checker) Lead(ctx context.Context, owner string, lease time.Duration) (r Report, led bool, err error) {
	take := func(ctx context.Context) (cursor string, taken bool, err error) {
		now := c.clock()
		return c.store.TakeWork(ctx, Checking, owner, now, now.Add(lease))
	}
	c.cursor, led, err = take(ctx)
	if err != nil || !led {
		return Report{}, false, err
	}
	r, err = c.round(ctx, func(ctx context.Context) error {
		_, taken, err := take(ctx)
		if err == nil && !taken {
			err = ErrWorkLost
		}
		return err
	})
	return r, true, errors.Join(err, c.store.LeaveWork(context.WithoutCancel(ctx), Checking, owner, c.cursor))
}
