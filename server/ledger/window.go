package ledger

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
)

// Day is a calendar day in UTC, as year*10000+month*100+day: 20261122. Later days are
// greater. A day with the number 00 stands for its month.
type Day int32

// DayOf returns the day of a time.
func DayOf(t time.Time) Day {
	t = t.UTC()
	return Day(t.Year()*10000 + int(t.Month())*100 + t.Day())
}

// Month returns the month of the day.
func (d Day) Month() Month { return Month(d / 100) }

// WindowKind is the kind of a limit on what the charges of a period use together. It is
// also the code of the refusal.
type WindowKind = RefusalCode

// WindowKinds lists the kinds of windows of a mandate in the order in which they are checked.
var WindowKinds = []WindowKind{DailyLimit, MonthlyLimit, TotalLimit, VelocityLimit}

// Window is what the pending, authorized and succeeded charges of one period use of a limit.
type Window struct {
	// Kind is DailyLimit, MonthlyLimit, TotalLimit, VelocityLimit, or PayeeLimit.
	Kind WindowKind
	// Cap is the most that may be used: micros, or with VelocityLimit a number of payments.
	Cap int64
	// Start is the first day of the period; zero if there is one period only.
	Start Day
	// Used is what is used in the period, in the unit of Cap.
	Used int64
}

// Counts reports whether the window counts payments instead of money.
func (w Window) Counts() bool { return w.Kind == VelocityLimit }

// start returns the start of the period that a day belongs to.
func (w Window) start(d Day) Day {
	switch w.Kind {
	case TotalLimit:
		return 0
	case DailyLimit, VelocityLimit:
		return d
	default:
		return d - d%100
	}
}

// size returns what a charge of an amount uses.
func (w Window) size(amount Micros) int64 {
	if w.Counts() {
		return 1
	}
	return int64(amount)
}

// At returns the window on a day: empty if its period has ended by then.
func (w Window) At(d Day) Window {
	if start := w.start(d); start > w.Start {
		w.Start, w.Used = start, 0
	}
	return w
}

// Left returns what may still be used.
func (w Window) Left() int64 { return w.Cap - w.Used }

// UsedPercent returns how much is used, in whole percent, rounded down.
func (w Window) UsedPercent() int {
	used, limit := w.Used, w.Cap
	if limit > math.MaxInt64/100 { // the product would overflow
		used, limit = used/100, limit/100
	}
	if limit <= 0 {
		return 0
	}
	return int(used * 100 / limit)
}

// RenewsAt returns the time at which the next period begins; zero if there is none.
func (w Window) RenewsAt() time.Time {
	if w.Kind == TotalLimit {
		return time.Time{}
	}
	year, month, day := int(w.Start/10000), time.Month(w.Start/100%100), int(w.Start%100)
	if day == 0 {
		return time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
}

// refuses returns the refusal of a charge that exceeds the window, or nil.
func (w Window) refuses(amount Micros) *Refusal {
	if w.size(amount) <= w.Left() {
		return nil
	}
	r := &Refusal{Code: w.Kind, RenewsAt: w.RenewsAt()}
	if w.Counts() {
		r.MaxPayments = w.Cap
		return r
	}
	r.Limit, r.Remaining = Micros(w.Cap), Micros(max(w.Left(), 0))
	return r
}

// hold adds a charge of an amount to a window of its day.
func (w Window) hold(amount Micros) (Window, error) {
	size := w.size(amount)
	if size > math.MaxInt64-w.Used {
		return w, fmt.Errorf("%w: %s window overflows", ErrInvariant, w.Kind)
	}
	w.Used += size
	return w, nil
}

// giveBack subtracts a charge of a day, if the window's period is still the charge's.
func (w Window) giveBack(d Day, amount Micros) (Window, error) {
	if w.start(d) != w.Start {
		return w, nil
	}
	if w.Used -= w.size(amount); w.Used < 0 {
		return w, fmt.Errorf("%w: %s window has less than is given back", ErrInvariant, w.Kind)
	}
	return w, nil
}

// giveBackPart subtracts a part of a charge of a day, which still is a payment.
func (w Window) giveBackPart(d Day, amount Micros) (Window, error) {
	if w.Counts() {
		return w, nil
	}
	return w.giveBack(d, amount)
}

// giveBackRefund subtracts what was refunded of a charge, unless the month of a charge on the
// chain keeps it; see [Window.keeps].
func (w Window) giveBackRefund(c Charge, amount Micros) (Window, error) {
	if w.keeps(c) {
		return w, nil
	}
	return w.giveBackPart(c.Day, amount)
}

// keeps reports whether a refund of the charge frees nothing in the window. The contract on
// the chain counts what it has moved in a month, and knows of no refund: if the mandate's
// month counted less, it would promise a budget that the contract refuses.
func (w Window) keeps(c Charge) bool {
	return w.Kind == MonthlyLimit && c.Rail == rail.Chain
}

// sound reports whether the use is within the cap.
func (w Window) sound() bool { return w.Used >= 0 && w.Used <= w.Cap }

// newWindows returns the windows of a new mandate.
func newWindows(t Terms, d Day) []Window {
	var all []Window
	for _, kind := range WindowKinds {
		if most := t.Cap(kind); most > 0 {
			all = append(all, Window{Kind: kind, Cap: most}.At(d))
		}
	}
	return all
}

// Window returns the mandate's window of a kind on a day. It reports false if the mandate
// has no such limit.
func (m Mandate) Window(kind WindowKind, d Day) (Window, bool) {
	for _, w := range m.Windows {
		if w.Kind == kind {
			return w.At(d), true
		}
	}
	return Window{}, false
}

// CountingDay returns the day in which a charge at a time counts: that of the time, or a
// later one that a charge has counted in. So a clock that goes backwards resets nothing.
func (m Mandate) CountingDay(now time.Time) Day {
	d := DayOf(now)
	for _, w := range m.Windows {
		d = max(d, w.Start)
	}
	return d
}

// SpentInMonth returns what is spent in the current month.
func (m Mandate) SpentInMonth(now time.Time) Micros {
	w, _ := m.Window(MonthlyLimit, m.CountingDay(now))
	return Micros(w.Used)
}

// changed returns the mandate's windows with a change of each. The mandate's own list is
// not changed, since it may be shared.
func (m Mandate) changed(change func(Window) (Window, error)) ([]Window, error) {
	all := slices.Clone(m.Windows)
	for i, w := range all {
		var err error
		if all[i], err = change(w); err != nil {
			return nil, fmt.Errorf("mandate %s: %w", m.ID, err)
		}
	}
	return all, nil
}

// Limits are the optional limits of a mandate. Zero: no limit.
type Limits struct {
	// MaxDaily limits the sum of the charges of a UTC day.
	MaxDaily Micros `json:"daily,omitempty"`
	// MaxTotal limits the sum of all charges.
	MaxTotal Micros `json:"total,omitempty"`
	// MaxPaymentsPerDay limits the number of charges of a UTC day.
	MaxPaymentsPerDay int64 `json:"velocity,omitempty"`
	// MaxMonthlyPerPayee limits the sum of the charges of a calendar month to one payee.
	MaxMonthlyPerPayee Micros `json:"payee,omitempty"`
	// RoundUpRest lets a tab that is open when the mandate ends capture [CardMinimum] if its sum is
	// below that. The payee gets its draws, and the operator the difference.
	RoundUpRest bool `json:"roundUpRest,omitempty"`
}

// Cap returns the limit of a kind; zero if there is none.
func (t Terms) Cap(kind WindowKind) int64 {
	switch kind {
	case DailyLimit:
		return int64(t.MaxDaily)
	case MonthlyLimit:
		return int64(t.MaxMonthly)
	case TotalLimit:
		return int64(t.MaxTotal)
	case VelocityLimit:
		return t.MaxPaymentsPerDay
	case PayeeLimit:
		return int64(t.MaxMonthlyPerPayee)
	default:
		return 0
	}
}

// narrows reports whether the limits are valid and allow nothing that wide does not allow.
func (t Terms) narrowsWindows(wide Terms) bool {
	for _, kind := range append([]WindowKind{PayeeLimit}, WindowKinds...) {
		own, other := t.Cap(kind), wide.Cap(kind)
		if own < 0 || cmp.Or(own, math.MaxInt64) > cmp.Or(other, math.MaxInt64) {
			return false
		}
	}
	return true
}
