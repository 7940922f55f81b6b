package ledger

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// Every lease of a charge has a unique owner: the instance and a number. Only the owner may
// postpone the charge, and a command whose commit succeeded but whose result was lost
// recognizes its own lease.

// newLease returns a unique owner for a lease.
func (l *Ledger) newLease() string {
	return l.instance + "." + strconv.FormatUint(l.leases.Add(1), 36)
}

// Lease leases a pending charge until a time, so that the caller may finish it. It reports
// false if another lease has not expired, or if the charge is decided.
func (l *Ledger) Lease(ctx context.Context, c Charge, until time.Time) (Charge, bool, error) {
	lease := l.newLease()
	return l.leaseCommand(ctx, c, func(s *State, now time.Time) (Effects, Charge, bool, error) {
		return decideLease(s, c.ID, lease, until, now)
	})
}

// PutOff ends the caller's lease of c, and keeps all callers from asking its rail before
// until. It reports false if the caller has lost the lease, or if the charge is decided.
func (l *Ledger) PutOff(ctx context.Context, c Charge, until time.Time) (Charge, bool, error) {
	return l.leaseCommand(ctx, c, func(s *State, _ time.Time) (Effects, Charge, bool, error) {
		return decidePutOff(s, c, until)
	})
}

// Hurry makes a pending charge that was put off due at once. It changes nothing if a caller
// has leased the charge, or if the charge is decided.
func (l *Ledger) Hurry(ctx context.Context, c Charge) (Charge, error) {
	c, _, err := l.leaseCommand(ctx, c, func(s *State, now time.Time) (Effects, Charge, bool, error) {
		c, ok := s.Charges[c.ID]
		if !ok {
			return Effects{}, Charge{}, false, ErrNotFound
		}
		if c.Status != ChargePending || c.LeaseOwner != "" || !now.Before(c.LeaseUntil) {
			return Effects{}, c, false, nil
		}
		c.LeaseUntil = now.Add(-time.Millisecond)
		return Effects{Update: Rows{Charges: []Charge{c}}}, c, true, nil
	})
	return c, err
}

func (l *Ledger) leaseCommand(ctx context.Context, c Charge, decide func(*State, time.Time) (Effects, Charge, bool, error)) (Charge, bool, error) {
	var (
		result Charge
		taken  bool
	)
	err := l.run(ctx, c.MandateID, Keys{Charges: []string{c.ID}}, func(s *State, now time.Time) (e Effects, err error) {
		e, result, taken, err = decide(s, now)
		return e, err
	})
	if err != nil {
		return Charge{}, false, fmt.Errorf("lease charge %s: %w", c.ID, err)
	}
	return result, taken, nil
}

// FreeLeases ends the leases of earlier processes on pending charges and refunds and on
// opening tabs if the store belongs to the caller's process alone. On a shared store it
// does nothing: the leases of a dead instance expire.
func (l *Ledger) FreeLeases(ctx context.Context) error {
	if err := l.store.FreeChargeLeases(ctx, l.instance); err != nil {
		return fmt.Errorf("free leases of earlier processes: %w", err)
	}
	return nil
}

func decideLease(s *State, chargeID, lease string, until, now time.Time) (Effects, Charge, bool, error) {
	c, ok := s.Charges[chargeID]
	switch {
	case !ok:
		return Effects{}, Charge{}, false, ErrNotFound
	case c.Status != ChargePending:
		return Effects{}, c, false, nil
	case c.LeaseOwner == lease: // this very command: it was committed, and its result was lost
		return Effects{}, c, true, nil
	case now.Before(c.LeaseUntil):
		return Effects{}, c, false, nil
	}
	c.LeaseOwner, c.LeaseUntil = lease, until
	c.Asked++
	return Effects{Update: Rows{Charges: []Charge{c}}}, c, true, nil
}

func decidePutOff(s *State, held Charge, until time.Time) (Effects, Charge, bool, error) {
	c, ok := s.Charges[held.ID]
	switch {
	case !ok:
		return Effects{}, Charge{}, false, ErrNotFound
	case c.Status != ChargePending:
		return Effects{}, c, false, nil
	case c.LeaseOwner == "" && c.Asked == held.Asked+1: // this very command, as above
		return Effects{}, c, true, nil
	case c.LeaseOwner != held.LeaseOwner:
		return Effects{}, c, false, nil
	}
	c.LeaseOwner, c.LeaseUntil = "", until
	c.Asked++
	return Effects{Update: Rows{Charges: []Charge{c}}}, c, true, nil
}
