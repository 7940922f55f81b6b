package ledger

import (
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
)

// A tab collects charges that are too small for a card. The card authorizes a block for one
// mandate and one payee, each draw is an authorized charge that the block guarantees, and the
// sum of the draws is captured once, when the tab closes. The limits of the mandate count the
// draws, never the block.
//
// The operator advances what a tab does not capture: a sum below [CardMinimum], or a fraction
// of a cent. The payee is paid in any case, and the next tab of the same mandate and payee
// captures the advance too.

// CardMinimum is the smallest amount that a card pays.
const CardMinimum = 50 * money.MicrosPerCent

// MaxTabAge is the longest time for which a tab takes draws.
const MaxTabAge = 24 * time.Hour

// operatorAccount is the account of what the operator has advanced for tabs.
const operatorAccount = "operator:tabs"

// TabState is the state of a tab.
type TabState string

// The states of a tab, in order. A tab whose block is refused goes from opening to closed.
const (
	TabOpening  TabState = "opening"  // the block is being authorized
	TabOpen     TabState = "open"     // the card holds the block
	TabClosing  TabState = "closing"  // no more draws; the rail captures the sum, or voids the block
	TabSettling TabState = "settling" // the rail has decided; the draws follow
	TabClosed   TabState = "closed"   // every draw is decided
)

// TabOutcome is what the rail did with the block of a tab that takes no more draws.
type TabOutcome string

// The outcomes. It is empty until the rail has decided.
const (
	TabCaptured TabOutcome = "captured" // the sum moved; the draws succeeded
	TabVoided   TabOutcome = "voided"   // nothing moved; the draws, if any, are written off
	TabRefused  TabOutcome = "refused"  // the rail refused; the draws, if any, failed
)

// TabReason is why a tab takes no more draws.
type TabReason string

// The reasons.
const (
	TabUsedUp    TabReason = "used_up"   // the next draw did not fit into the block
	TabExpired   TabReason = "expired"   // a day is over, the month, or the mandate's time
	TabRevoked   TabReason = "revoked"   // the mandate was revoked
	TabRequested TabReason = "requested" // the payee asked for it
)

// Tab is a block that a card holds for the draws of one mandate at one payee.
type Tab struct {
	// ID identifies the tab, also at the rail.
	ID string
	// MandateID identifies the mandate that pays.
	MandateID string
	// MerchantID identifies the payee.
	MerchantID string
	// Card is the mandate's when the tab was opened.
	Card string
	// State is the tab's state.
	State TabState
	// Outcome is what the rail did with the block.
	Outcome TabOutcome
	// Reason is why the tab takes no more draws; empty while it does.
	Reason TabReason
	// FailureReason is the reason of a refusal by the rail.
	FailureReason rail.Reason
	// Block is the amount that is authorized.
	Block Micros
	// Owed is the advance of earlier tabs, which this one captures too.
	Owed Micros
	// Drawn is the sum of the draws.
	Drawn Micros
	// Draws is their number.
	Draws int64
	// Capture is the amount to capture, from closing on. Zero voids the block.
	Capture Micros
	// Counted is the part of the advance that the payer's [Tally.Owed] has already. A closing tab
	// that captures nothing has all of it there, so that the next tab takes it over.
	Counted Micros
	// ProcessorID is the card processor's id of the block.
	ProcessorID string
	// LeaseOwner names the lease under which the block is being authorized.
	LeaseOwner string
	// LeaseUntil is the time before which no other process asks for the block.
	LeaseUntil time.Time
	// CreatedAt is the time of the first draw's request.
	CreatedAt time.Time
	// ClosesAt is the time from which the tab takes no more draws.
	ClosesAt time.Time
	// ClosedAt is the time at which every draw was decided; zero before.
	ClosedAt time.Time
}

// Key returns the tab's mandate and payee.
func (t Tab) Key() TallyKey { return TallyKey{MandateID: t.MandateID, MerchantID: t.MerchantID} }

// Rest returns what may still be drawn.
func (t Tab) Rest() Micros { return t.Block - t.Owed - t.Drawn }

// Current reports whether the tab is the one that draws go to, or wait for.
func (t Tab) Current() bool { return t.State == TabOpening || t.State == TabOpen }

// advance returns what the operator has advanced when the tab's rail has decided. It is
// meaningful from settling on.
func (t Tab) advance() Micros {
	if t.Outcome == TabRefused {
		return t.Owed // the draws failed, and no account paid for them
	}
	return t.Owed + t.Drawn - t.Capture + t.roundedUp()
}

// roundedUp returns what the tab captures above its sum; see [Limits.RoundUpRest].
func (t Tab) roundedUp() Micros { return max(t.Capture-t.Owed-t.Drawn, 0) }

// sound reports whether the amounts of the tab fit together.
func (t Tab) sound() bool {
	return t.Rest() >= 0 && t.Owed >= 0 && t.Drawn >= 0 && t.Capture%money.MicrosPerCent == 0 &&
		(t.roundedUp() == 0 || t.Capture == CardMinimum) && (t.Counted == 0 || t.State == TabClosing && t.Capture == 0 && t.Counted == t.Owed+t.Drawn)
}

// postings returns the posting of what the operator advances for the mandate, or gets
// back, with what is captured above the sum. With the postings of the draws, the
// mandate's account holds what its card paid.
func (t Tab) postings(now time.Time) []Posting {
	advanced := t.advance() - t.Owed - t.roundedUp()
	p := Posting{ChargeID: t.ID, MandateID: t.MandateID, From: operatorAccount, To: mandateAccount(t.MandateID), Amount: advanced, At: now}
	switch {
	case advanced == 0:
		return nil
	case advanced < 0:
		p.From, p.To, p.Amount = p.To, p.From, -advanced
	}
	return []Posting{p}
}

// closing returns the tab without further draws, and with the amount to capture: whole cents,
// and nothing below [CardMinimum].
func (t Tab) closing(why TabReason) Tab {
	t.State, t.Reason, t.LeaseOwner, t.LeaseUntil = TabClosing, why, "", time.Time{}
	if sum := t.Owed + t.Drawn; t.Drawn > 0 && sum >= CardMinimum {
		t.Capture = sum - sum%money.MicrosPerCent
	} else {
		t.Counted = sum
	}
	return t
}

// close returns the effects of the end of a tab's draws. If its mandate has ended, no later tab
// can take over what it does not capture.
func (t Tab) close(s *State, why TabReason, now time.Time) Effects {
	t = t.closing(why)
	if m := s.Mandates[t.MandateID]; m.Terms.RoundUpRest && m.ended(now) && t.Capture == 0 && t.Drawn > 0 {
		t.Capture, t.Counted = CardMinimum, 0
	}
	e := Effects{Update: Rows{Tabs: []Tab{t}}, Insert: Rows{Unwindings: []Unwinding{unwindTab(t, now)}}}
	tally, known := s.Tallies[t.Key()]
	e.owe(tally, known, t.Key(), t.Counted)
	return e
}

// owe adds to what a payer owes for its tabs at a payee.
func (e *Effects) owe(tally Tally, known bool, key TallyKey, more Micros) {
	tally.TallyKey, tally.Owed = key, tally.Owed+more
	switch {
	case more == 0:
	case known:
		e.Update.Tallies = []Tally{tally}
	default:
		e.Insert.Tallies = []Tally{tally}
	}
}

// exposure returns the most that the operator may lose by a tab whose rail has not decided: what
// it has advanced, or what no card captures if nothing more is drawn.
func (t Tab) exposure() Micros {
	if t.Owed+t.Drawn < CardMinimum {
		return CardMinimum
	}
	return t.Owed
}

// closesAt returns the time at which a tab that is opened now must close: after a day, at the
// end of the month, or when its mandate expires.
func closesAt(m Mandate, now time.Time) time.Time {
	end := now.Add(MaxTabAge)
	for _, other := range []time.Time{MonthOf(now).Next().Start(), m.Terms.ExpiresAt} {
		if other.Before(end) {
			end = other
		}
	}
	return end
}

// unwindTab returns the unwinding that sees a tab to its end, due at a time.
func unwindTab(t Tab, due time.Time) Unwinding {
	return Unwinding{ID: t.ID, Kind: UnwindTab, Since: due, Due: due}
}
