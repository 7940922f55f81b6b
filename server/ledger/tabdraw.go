package ledger

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// Draw makes a reservation a draw from a tab if the mandate allows none of the request's
// rails, but the card. The draw is authorized at once if the tab has room for it.
type Draw struct {
	// TabID is the id that a new tab gets if the draw opens one.
	TabID string
	// Block is the most that a new tab authorizes, at least [CardMinimum].
	Block Micros
	// MaxAdvance is the most that the operator advances for the tabs of the payee in a calendar
	// month; see [Reader.Advances]. Beyond it a draw that needs a new tab is refused.
	MaxAdvance Micros
	// Refused is the reason with which the rail refused the block of the tab that the draw
	// waited for. The charge fails with it. Empty otherwise.
	Refused rail.Reason
}

// draws reports whether the reservation is a draw under a mandate.
func (r Reserve) draws(m Mandate) bool {
	return r.Draw != nil && len(m.rails(r.Rails)) == 0 && slices.Contains(m.Terms.Rails, rail.Card)
}

// draw takes the amount from the tab of the mandate and the payee. If there is none with room
// for it, draw opens one, and makes no charge yet: the caller asks the rail for the block, or
// waits for the one who does, and repeats the reservation. A draw that is refused opens none.
func (r Reserve) draw(s *State, m Mandate, tally Tally, tallied bool, now time.Time) (e Effects, made Reservation, refusal *Refusal, err error) {
	if r.Draw.Refused != "" {
		e, made, err = r.failed(m, r.Draw.Refused, now)
		return e, made, nil, err
	}
	current, exists := s.currentTab(r.tallyKey())
	switch {
	case exists && current.State == TabOpening && current.LeaseOwner != r.lease && now.Before(current.LeaseUntil):
		return Effects{}, Reservation{Tab: current, Mandate: m}, nil, nil
	case exists && current.State == TabOpening: // its opener has died, or this very command
		current.LeaseOwner, current.LeaseUntil = r.lease, now.Add(r.Lease)
		return Effects{Update: Rows{Tabs: []Tab{current}}}, Reservation{Tab: current, Mandate: m, OpenTab: true}, nil, nil
	case exists && now.Before(current.ClosesAt) && r.Amount <= current.Rest():
		e, made, err = r.take(m, current, tally, tallied, now)
		return e, made, nil, err
	case !r.withAdvances:
		return Effects{}, Reservation{}, nil, errAdvancesNeeded
	}
	owed, advances := Micros(0), r.advances
	if exists {
		advances -= current.exposure()
		current = current.closing(usedUp(current, now))
		owed = current.Counted
		e.Update.Tabs, e.Insert.Unwindings = []Tab{current}, []Unwinding{unwindTab(current, now)}
		if current.Capture > 0 {
			advances += current.Owed
		}
	}
	tally.Owed += owed
	opened, refusal := r.open(m, tally, now)
	if refusal == nil {
		refusal = r.exceeds(opened, advances+owed, now)
	}
	if refusal != nil {
		return Effects{}, Reservation{}, refusal, nil
	}
	e.Insert.Tabs, e.Insert.Unwindings = []Tab{opened}, append(e.Insert.Unwindings, unwindTab(opened, opened.LeaseUntil))
	tally.Owed -= owed
	e.owe(tally, tallied, r.tallyKey(), owed-opened.Owed)
	return e, Reservation{Tab: opened, Mandate: m, OpenTab: true}, nil, nil
}

// usedUp returns why a tab closes that has no room for a draw.
func usedUp(t Tab, now time.Time) TabReason {
	if !now.Before(t.ClosesAt) {
		return TabExpired
	}
	return TabUsedUp
}

// errAdvancesNeeded reports that the draw needs a new tab, so that the payee's advances and tally
// have to be read too. They are read before the decision: tabs that open at the same time are
// counted by the caller once more, when they are stored.
var errAdvancesNeeded = errors.New("ledger: advances of the payee are needed")

// exceeds returns the refusal of a new tab if the operator might then have to advance too much
// for the payee. A tab that is sure to be captured opens in any case.
func (r Reserve) exceeds(opened Tab, advances Micros, now time.Time) *Refusal {
	if opened.Owed >= CardMinimum || advances-opened.Owed+CardMinimum <= r.Draw.MaxAdvance {
		return nil
	}
	return r.Draw.Exhausted(now, r.RequestID)
}

// Exhausted returns the refusal of a draw for which the operator advances no more.
func (d Draw) Exhausted(now time.Time, requestID string) *Refusal {
	return &Refusal{Code: MerchantLimit, Limit: d.MaxAdvance, RenewsAt: MonthOf(now).Next().Start(), RequestID: requestID}
}

// take makes the authorized charge of a draw.
func (r Reserve) take(m Mandate, tab Tab, tally Tally, tallied bool, now time.Time) (Effects, Reservation, error) {
	e, reservation, err := r.hold(m, Checkout{}, now)
	if err != nil {
		return Effects{}, Reservation{}, err
	}
	if r.withTally {
		if err := r.holdForPayee(&e, m, tally, tallied); err != nil {
			return Effects{}, Reservation{}, err
		}
	}
	c := reservation.Charge.onCard()
	c.TabID, c.Card, c.Status = tab.ID, tab.Card, ChargeAuthorized
	if tab.Drawn, tab.Draws = tab.Drawn+r.Amount, tab.Draws+1; tab.Rest() == 0 {
		tab = tab.closing(TabUsedUp)
		e.Insert.Unwindings = []Unwinding{unwindTab(tab, now)}
	}
	m = e.Update.Mandates[0]
	recordEvent(&e, &m, c.MerchantID, webhook.PaymentAuthorized, paymentData(&c), now)
	e.Insert.Charges, e.Update.Mandates, e.Update.Tabs = []Charge{c}, []Mandate{m}, []Tab{tab}
	return e, Reservation{Charge: c, Mandate: m, Tab: tab}, nil
}

// failed makes a charge for which no tab could be opened.
func (r Reserve) failed(m Mandate, reason rail.Reason, now time.Time) (Effects, Reservation, error) {
	e, reservation, err := r.hold(m, Checkout{}, now)
	if err != nil {
		return Effects{}, Reservation{}, err
	}
	c := reservation.Charge.onCard()
	c.Status, c.FailureReason = ChargeFailed, reason
	recordEvent(&e, &m, c.MerchantID, webhook.PaymentFailed, paymentData(&c), now)
	e.Insert.Charges, e.Update.Mandates = []Charge{c}, []Mandate{m} // as before: it holds nothing
	return e, Reservation{Charge: c, Mandate: m}, nil
}

// onCard returns the charge of a draw, which asks no rail itself.
func (c Charge) onCard() Charge {
	c.Source = SourceTab
	c.Rails, c.Rail, c.LeaseOwner, c.LeaseUntil = []rail.Name{rail.Card}, rail.Card, "", time.Time{}
	return c
}

// open returns a tab whose block is within every window of the mandate, and as large as the
// request allows, or the refusal by the window that leaves too little for a card or for the draw.
func (r Reserve) open(m Mandate, tally Tally, now time.Time) (Tab, *Refusal) {
	least := m.least(tally, now)
	left := Micros(max(least.Left(), 0))
	t := Tab{
		ID: r.Draw.TabID, MandateID: m.ID, MerchantID: r.Payee.ID, Card: m.Card, State: TabOpening, LeaseOwner: r.lease, LeaseUntil: now.Add(r.Lease),
		CreatedAt: now, ClosesAt: closesAt(m, now),
	}
	// What is owed was counted in the windows when it was drawn.
	t.Block = min(r.Draw.Block, left+min(tally.Owed, math.MaxInt64-left))
	t.Block -= t.Block % money.MicrosPerCent
	t.Owed = max(min(tally.Owed, t.Block-r.Amount), 0)
	if t.Block >= CardMinimum && r.Amount <= t.Rest() {
		return t, nil
	}
	refusal := &Refusal{Code: least.Kind, Limit: Micros(least.Cap), Remaining: left, Holds: CardMinimum, RequestID: r.RequestID}
	if refusal.Limit >= CardMinimum { // else it never leaves enough
		refusal.RenewsAt = least.RenewsAt()
	}
	return Tab{}, refusal
}

// least returns the window that leaves the least money, of those of the mandate and the payee's.
func (m Mandate) least(tally Tally, now time.Time) Window {
	day, least := m.CountingDay(now), Window{Kind: MonthlyLimit, Cap: math.MaxInt64}
	windows := m.Windows
	if m.Terms.MaxMonthlyPerPayee > 0 {
		windows = append(slices.Clip(windows), tally.window(m.Terms))
	}
	for _, w := range windows {
		if w = w.At(day); !w.Counts() && w.Left() < least.Left() {
			least = w
		}
	}
	return least
}

// currentTab returns the tab that draws go to, or wait for.
func (s *State) currentTab(key TallyKey) (Tab, bool) {
	for _, t := range s.Tabs {
		if t.Key() == key && t.Current() {
			return t, true
		}
	}
	return Tab{}, false
}
