package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// ErrTabChanged reports a tab that is not in the state that the command is for.
var ErrTabChanged = errors.New("ledger: the tab is in another state")

// tabKeys returns the rows that a change of a tab needs.
func tabKeys(t Tab, charges ...string) Keys {
	return Keys{Mandates: []string{t.MandateID}, Tabs: []TallyKey{t.Key()}, Tallies: []TallyKey{t.Key()}, Charges: charges}
}

// changeTab runs a decision about a tab that is not closed. A closed tab does not change.
func (l *Ledger) changeTab(ctx context.Context, t Tab, keys Keys, decide func(s *State, m Mandate, t Tab, now time.Time) (Effects, error)) (Tab, error) {
	err := l.run(ctx, t.MandateID, keys, func(s *State, now time.Time) (Effects, error) {
		m, ok := s.Mandates[t.MandateID]
		if !ok {
			return Effects{}, fmt.Errorf("%w: mandate of tab %s is missing", ErrInvariant, t.ID)
		}
		known, unfinished := s.Tabs[t.ID]
		if !unfinished {
			return Effects{}, nil
		}
		return decide(s, m, known, now)
	})
	if err == nil {
		t, err = l.Tab(ctx, t.ID)
	}
	if err != nil {
		return Tab{}, fmt.Errorf("change tab %s: %w", t.ID, err)
	}
	return t, nil
}

// LeaseTab leases a tab that is opening, so that the caller may ask for its block. It
// reports false if another lease has not expired, or if the tab is not opening.
func (l *Ledger) LeaseTab(ctx context.Context, t Tab, until time.Time) (Tab, bool, error) {
	lease := l.newLease()
	t, err := l.changeTab(ctx, t, tabKeys(t), func(_ *State, _ Mandate, t Tab, now time.Time) (Effects, error) {
		if t.State != TabOpening || now.Before(t.LeaseUntil) {
			return Effects{}, nil
		}
		t.LeaseOwner, t.LeaseUntil = lease, until
		return Effects{Update: Rows{Tabs: []Tab{t}}}, nil
	})
	return t, err == nil && t.State == TabOpening && t.LeaseOwner == lease, err
}

// OpenTab records the outcome of a tab's block on its rail: Held opens the tab, and Refused
// closes it. If the mandate has ended meanwhile, the block is voided. A tab that is not
// opening does not change.
func (l *Ledger) OpenTab(ctx context.Context, t Tab, o rail.Outcome) (Tab, error) {
	return l.changeTab(ctx, t, tabKeys(t), func(s *State, m Mandate, t Tab, now time.Time) (Effects, error) {
		if t.State != TabOpening {
			return Effects{}, nil
		}
		t.LeaseOwner, t.LeaseUntil, t.ProcessorID = "", time.Time{}, o.ProcessorID
		switch {
		case o.Status == rail.Refused:
			t.FailureReason = o.Reason
			return t.settled(s, TabRefused, now)
		case o.Status != rail.Held:
			return Effects{}, fmt.Errorf("%w: outcome %q does not open tab %s", ErrInvariant, o.Status, t.ID)
		case m.ended(now):
			return t.close(s, endOf(m), now), nil
		}
		t.State = TabOpen
		return Effects{Update: Rows{Tabs: []Tab{t}}, Insert: Rows{Unwindings: []Unwinding{unwindTab(t, t.ClosesAt)}}}, nil
	})
}

// ended reports whether the mandate was revoked or has expired.
func (m Mandate) ended(now time.Time) bool { return m.refuseEnded(now) != nil }

// endOf returns why the tabs of a mandate that has ended close.
func endOf(m Mandate) TabReason {
	if m.Status == MandateRevoked {
		return TabRevoked
	}
	return TabExpired
}

// CloseTab ends the draws of an open tab, and of one that is opening if its mandate has
// ended and the lease of its opener has expired. Other tabs do not change. An empty reason
// stands for the end of the tab's time, or of its mandate; before that, nothing changes.
func (l *Ledger) CloseTab(ctx context.Context, t Tab, why TabReason) (Tab, error) {
	return l.changeTab(ctx, t, tabKeys(t), func(s *State, m Mandate, t Tab, now time.Time) (Effects, error) {
		ended := m.ended(now)
		reason := why
		switch {
		case ended:
			reason = endOf(m)
		case why == "" && !now.Before(t.ClosesAt):
			reason = TabExpired
		}
		abandoned := t.State == TabOpening && ended && !now.Before(t.LeaseUntil)
		if reason == "" || t.State != TabOpen && !abandoned {
			return Effects{}, nil
		}
		return t.close(s, reason, now), nil
	})
}

// SettleTab records what the rail did with the block of a closing tab: captured it, voided
// it, or refused. The draws are decided by [Ledger.SettleDraws]. A tab that is not closing
// does not change.
func (l *Ledger) SettleTab(ctx context.Context, t Tab, o rail.Outcome) (Tab, error) {
	return l.changeTab(ctx, t, tabKeys(t), func(s *State, _ Mandate, t Tab, now time.Time) (Effects, error) {
		if t.State != TabClosing {
			return Effects{}, nil
		}
		outcome := TabCaptured
		switch {
		case o.Status == rail.Refused && t.Capture == 0:
			outcome = TabVoided
		case o.Status == rail.Refused:
			outcome, t.FailureReason = TabRefused, o.Reason
		case o.Status != rail.Succeeded || t.Capture == 0:
			return Effects{}, fmt.Errorf("%w: outcome %q does not close tab %s", ErrInvariant, o.Status, t.ID)
		}
		return t.settled(s, outcome, now)
	})
}

// settled returns the effects of a rail's decision about a tab.
func (t Tab) settled(s *State, outcome TabOutcome, now time.Time) (Effects, error) {
	t.State, t.Outcome = TabSettling, outcome
	if outcome == TabRefused && t.FailureReason == "" {
		t.FailureReason = rail.ProcessorError
	}
	if t.Draws == 0 {
		t.State, t.ClosedAt = TabClosed, now
	}
	more := t.advance() - t.Counted
	t.Counted = 0
	e := Effects{Update: Rows{Tabs: []Tab{t}}, Insert: Rows{Postings: t.postings(now)}}
	tally, known := s.Tallies[t.Key()]
	e.owe(tally, known, t.Key(), more)
	return e, nil
}

// MaxDrawsSettled limits the draws of one call of [Ledger.SettleDraws].
const MaxDrawsSettled = 100

// SettleDraws decides draws of a settling tab as its rail decided: they succeed, are written
// off, or fail and give their amounts back. Decided draws do not change. Without ids, it
// closes the tab: every draw is decided.
func (l *Ledger) SettleDraws(ctx context.Context, t Tab, ids []string) (Tab, error) {
	return l.changeTab(ctx, t, tabKeys(t, ids...), func(s *State, _ Mandate, t Tab, now time.Time) (Effects, error) {
		if t.State != TabSettling {
			return Effects{}, fmt.Errorf("%w: it is %s", ErrTabChanged, t.State)
		}
		if len(ids) == 0 {
			t.State, t.ClosedAt = TabClosed, now
			return Effects{Update: Rows{Tabs: []Tab{t}}}, nil
		}
		// Each draw is decided on the changes of the ones before it.
		so := &State{Mandates: maps.Clone(s.Mandates), Tallies: maps.Clone(s.Tallies)}
		var all Effects
		for _, id := range ids {
			c, ok := s.Charges[id]
			if !ok || c.TabID != t.ID {
				return Effects{}, fmt.Errorf("%w: charge %s is no draw of tab %s", ErrInvariant, id, t.ID)
			}
			if c.Status != ChargeAuthorized {
				continue
			}
			e, err := t.decideDraw(so, c, now)
			if err != nil {
				return Effects{}, err
			}
			all.add(e)
			so.keep(e)
		}
		return all, nil
	})
}

// decideDraw decides one draw.
func (t Tab) decideDraw(s *State, c Charge, now time.Time) (Effects, error) {
	var (
		e   Effects
		err error
	)
	switch m := s.Mandates[c.MandateID]; t.Outcome {
	case TabCaptured:
		e, _, err = pay(s, m, c, ChargeSucceeded, webhook.PaymentSucceeded, now)
	case TabVoided:
		e, _, err = pay(s, m, c, ChargeWrittenOff, webhook.PaymentWrittenOff, now)
	case TabRefused:
		e, _, err = release(s, c, t.FailureReason, now)
	default:
		err = fmt.Errorf("%w: tab %s is settling without an outcome", ErrInvariant, t.ID)
	}
	return e, err
}

// add appends the effects of one more decision about a draw.
func (e *Effects) add(more Effects) {
	e.Insert.Tallies = append(e.Insert.Tallies, more.Insert.Tallies...)
	e.Insert.Postings = append(e.Insert.Postings, more.Insert.Postings...)
	e.Insert.Events = append(e.Insert.Events, more.Insert.Events...)
	e.Update.Charges = append(e.Update.Charges, more.Update.Charges...)
	e.Update.Mandates = append(e.Update.Mandates, more.Update.Mandates...)
	e.Update.Tallies = append(e.Update.Tallies, more.Update.Tallies...)
}

// keep stores the changed mandates and tallies in the state.
func (s *State) keep(e Effects) {
	for _, m := range e.Update.Mandates {
		s.Mandates[m.ID] = m
	}
	for _, tallies := range [][]Tally{e.Insert.Tallies, e.Update.Tallies} {
		for _, t := range tallies {
			s.Tallies[t.TallyKey] = t
		}
	}
}
