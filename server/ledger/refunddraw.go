package ledger

import (
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// A draw is refunded by the card once a tab has captured it. Before that no card has paid it:
//
//   - While its tab is open, it leaves the tab and is voided. Nothing was paid to the payee.
//   - After it was written off, the operator has paid the payee, and the payer owes it. The payee
//     gives the amount back to the operator, and the payer owes it no more.
//
// So the payee gives each amount back once: to the card that paid it, or to the operator.

// DrawError reports that a draw cannot be refunded now, because its tab is not captured.
type DrawError struct {
	// TabID is the tab that will have captured the draw.
	TabID string
	// ClosesAt is the time at which that tab closes at the latest. Until then the draw can be
	// refunded in full only, and not if the tab would fall below what a card captures. It is
	// zero if the tab takes no more draws: then the card is being asked, and the draw can be
	// refunded in a moment.
	ClosesAt time.Time
}

// Error implements error.
func (e *DrawError) Error() string {
	if e.ClosesAt.IsZero() {
		return "ledger: tab " + e.TabID + " is being captured"
	}
	return "ledger: open tab " + e.TabID + " must close before this refund"
}

// leftTab reports whether the charge is a draw that was refunded while its tab was open.
func (c Charge) leftTab() bool { return c.Status == ChargeVoided && c.TabID != "" }

// leaveTab voids a draw of an open tab.
func (r Refund) leaveTab(s *State, c Charge, now time.Time) (Effects, Refund, error) {
	tab, ok := s.Tabs[c.TabID]
	switch {
	case !ok:
		return Effects{}, Refund{}, fmt.Errorf("%w: tab of draw %s is missing", ErrInvariant, c.ID)
	case tab.State != TabOpen:
		return Effects{}, Refund{}, &DrawError{TabID: tab.ID}
	case r.Amount < c.Amount:
		return Effects{}, Refund{}, &DrawError{TabID: tab.ID, ClosesAt: tab.ClosesAt}
	}
	e, err := giveBack(s, c, func(w Window) (Window, error) { return w.giveBack(c.Day, c.Amount) })
	if err != nil {
		return Effects{}, Refund{}, err
	}
	if tab.lapses(c.Amount) {
		return Effects{}, Refund{}, &DrawError{TabID: tab.ID, ClosesAt: tab.ClosesAt}
	}
	c.Status = ChargeVoided
	tab.Drawn, tab.Draws = tab.Drawn-c.Amount, tab.Draws-1
	r = r.withoutRail(now)
	m := e.Update.Mandates[0]
	recordEvent(&e, &m, c.MerchantID, webhook.PaymentVoided, refundData(&c, &r), now)
	e.Insert.Refunds = []Refund{r}
	e.Update.Mandates, e.Update.Charges, e.Update.Tabs = []Mandate{m}, []Charge{c}, []Tab{tab}
	return e, r, nil
}

// lapses reports whether a tab that a card will capture falls below what a card captures if its
// sum is less by an amount. The operator, which would then advance it, did not count it when
// the tab opened, so a payee could make it advance any number of tabs.
func (t Tab) lapses(less Micros) bool {
	sum := t.Owed + t.Drawn
	return sum >= CardMinimum && sum-less < CardMinimum
}

// withoutRail returns the refund as succeeded, without a movement on a rail.
func (r Refund) withoutRail(now time.Time) Refund {
	r.Rail, r.Status, r.SettledAt, r.LeaseUntil = "", RefundSucceeded, now, time.Time{}
	return r
}

// forgive refunds a part of a draw that was written off and that no tab has captured since: the
// payee returns what the operator had advanced, and the payer's debt is that much less.
func (r Refund) forgive(s *State, c Charge, now time.Time) (Effects, Refund, error) {
	key := TallyKey{MandateID: c.MandateID, MerchantID: c.MerchantID}
	debt, tab, inTab := s.Tallies[key], Tab{}, false
	for _, t := range s.Tabs {
		if t.Key() != key || t.Owed == 0 || t.Outcome != "" || t.Counted != 0 {
			continue
		}
		if t.Capture > 0 { // it may capture this draw's debt: what is owed outside is another's
			return Effects{}, Refund{}, &DrawError{TabID: t.ID}
		}
		tab, inTab = t, true
	}
	outside := min(debt.Owed, r.Amount)
	inside := r.Amount - outside
	switch {
	case inside > 0 && !inTab: // a tab has captured it since the request was read
		return Effects{}, Refund{}, &DrawError{TabID: c.TabID}
	case inside > 0 && (!tab.Current() || tab.Owed < inside):
		return Effects{}, Refund{}, &DrawError{TabID: tab.ID}
	case inside > 0 && tab.lapses(inside):
		return Effects{}, Refund{}, &DrawError{TabID: tab.ID, ClosesAt: tab.ClosesAt}
	}
	debt.Owed, tab.Owed = debt.Owed-outside, tab.Owed-inside
	so := &State{Mandates: s.Mandates, Tallies: map[TallyKey]Tally{key: debt}}
	e, r, err := r.withoutRail(now).succeed(so, c, now, now)
	if err != nil {
		return Effects{}, Refund{}, err
	}
	e.Insert.Refunds, e.Update.Refunds = e.Update.Refunds, nil
	if inside > 0 {
		e.Update.Tabs = []Tab{tab}
	}
	return e, r, nil
}

// forgiven returns what the postings of a charge give back to the operator.
func forgiven(postings []Posting) (sum Micros) {
	for _, p := range postings {
		if p.N >= FirstRefundPosting && p.To == operatorAccount {
			sum += p.Amount
		}
	}
	return sum
}

// railOf returns the rail of a refund with this last posting.
func railOf(c Charge, last Posting) rail.Name {
	if c.Status == ChargeWrittenOff && last.To == operatorAccount {
		return ""
	}
	return c.Rail
}
