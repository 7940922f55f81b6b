package ledger

import (
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
// waits for the one who does, and repeats the reservation.
func (r Reserve) draw(s *State, m Mandate, tally Tally, tallied bool, now time.Time) (Effects, Reservation, error) {
	if r.Draw.Refused != "" {
		return r.failed(m, r.Draw.Refused, now)
	}
	current, exists := s.currentTab(r.tallyKey())
	switch {
	case exists && current.State == TabOpening && current.LeaseOwner != r.lease && now.Before(current.LeaseUntil):
		return Effects{}, Reservation{Tab: current, Mandate: m}, nil
	case exists && current.State == TabOpening: // its opener has died, or this very command
		current.LeaseOwner, current.LeaseUntil = r.lease, now.Add(r.Lease)
		return Effects{Update: Rows{Tabs: []Tab{current}}}, Reservation{Tab: current, Mandate: m, OpenTab: true}, nil
	case exists && now.Before(current.ClosesAt) && r.Amount <= current.Rest():
		return r.take(m, current, tally, tallied, now)
	}
	if !r.withTally {
		return Effects{}, Reservation{}, errTallyNeeded
	}
	opened, fits := r.open(m, tally, now)
	if !fits {
		return r.failed(m, rail.Unavailable, now)
	}
	e := Effects{Insert: Rows{Tabs: []Tab{opened}, Unwindings: []Unwinding{unwindTab(opened, opened.LeaseUntil)}}}
	if exists {
		why := TabUsedUp
		if !now.Before(current.ClosesAt) {
			why = TabExpired
		}
		current = current.closing(why)
		e.Update.Tabs = []Tab{current}
		e.Insert.Unwindings = append(e.Insert.Unwindings, unwindTab(current, now))
	}
	if opened.Owed > 0 {
		tally.Owed -= opened.Owed
		e.Update.Tallies = []Tally{tally}
	}
	return e, Reservation{Tab: opened, Mandate: m, OpenTab: true}, nil
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
	c.TabID, c.Status = tab.ID, ChargeAuthorized
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
// request allows. It reports false if that is too little for a card or for the draw.
func (r Reserve) open(m Mandate, tally Tally, now time.Time) (Tab, bool) {
	left := m.left(tally, now)
	t := Tab{
		ID: r.Draw.TabID, MandateID: m.ID, MerchantID: r.Payee.ID, State: TabOpening, LeaseOwner: r.lease, LeaseUntil: now.Add(r.Lease),
		CreatedAt: now, ClosesAt: closesAt(m, now),
	}
	// What is owed was counted in the windows when it was drawn.
	t.Block = min(r.Draw.Block, left+min(tally.Owed, math.MaxInt64-left))
	t.Block -= t.Block % money.MicrosPerCent
	t.Owed = max(min(tally.Owed, t.Block-r.Amount), 0)
	return t, t.Block >= CardMinimum && r.Amount <= t.Rest()
}

// left returns the money that every window of the mandate still allows, and the payee's.
func (m Mandate) left(tally Tally, now time.Time) Micros {
	day, least := m.CountingDay(now), Micros(math.MaxInt64)
	windows := m.Windows
	if m.Terms.MaxMonthlyPerPayee > 0 {
		windows = append(slices.Clip(windows), tally.window(m.Terms))
	}
	for _, w := range windows {
		if w = w.At(day); !w.Counts() {
			least = min(least, Micros(max(w.Left(), 0)))
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
