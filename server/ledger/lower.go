package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// UsedError reports that a limit cannot be lowered so far, since more than that is used of it
// in the current period.
type UsedError struct {
	// Kind is the kind of the limit.
	Kind WindowKind
	// Used is what is used: micros, or with VelocityLimit a number of payments.
	Used int64
}

// Error implements error.
func (e *UsedError) Error() string {
	return fmt.Sprintf("ledger: %s limit below the %d that are used in its period", e.Kind, e.Used)
}

// Spent sums the charges of a mandate that count in its windows, to one payee on one day.
type Spent struct {
	// MerchantID identifies the payee.
	MerchantID string
	// Day is the day of the charges.
	Day Day
	// Amount is their sum without what was refunded.
	Amount Micros
	// Count is their number.
	Count int64
}

// errMandateChanged reports a mandate that has changed since its charges were summed up.
var errMandateChanged = errors.New("ledger: mandate changed")

// lowerAttempts limits how often the charges of a mandate are summed up again because others
// were made meanwhile.
const lowerAttempts = 20

// LowerLimits lowers the limits of an active mandate to those of terms, and adds those that the
// mandate does not have. A limit that is added counts the charges of its current period. The rest
// of terms must be as before. It returns the mandate. Errors: [ErrNotFound], [ErrWidened] if terms
// allow more, [UsedError], [ErrBusy] if the mandate is charged all the time, and a [Refusal] if the
// mandate has ended. What a contract on a chain enforces does not change.
func (l *Ledger) LowerLimits(ctx context.Context, mandateID string, terms Terms) (m Mandate, err error) {
	err = errMandateChanged
	for n := 0; n < lowerAttempts && errors.Is(err, errMandateChanged); n++ {
		m, err = l.lowerOnce(ctx, mandateID, terms)
	}
	if errors.Is(err, errMandateChanged) {
		err = ErrBusy
	}
	if err != nil {
		return Mandate{}, fmt.Errorf("lower limits of mandate %s: %w", mandateID, err)
	}
	return m, nil
}

// lowerOnce lowers limits unless a charge of the mandate, or its end, comes between reading its
// charges and the decision: each changes a window or the number of events.
func (l *Ledger) lowerOnce(ctx context.Context, mandateID string, terms Terms) (Mandate, error) {
	read, err := l.Mandate(ctx, mandateID)
	if err != nil {
		return Mandate{}, err
	}
	keys, spent := Keys{Mandates: []string{mandateID}}, []Spent(nil)
	if terms.Limits != read.Terms.Limits {
		if spent, err = l.Spent(ctx, mandateID); err != nil {
			return Mandate{}, err
		}
	}
	for _, one := range spent {
		keys.Tallies = append(keys.Tallies, TallyKey{MandateID: mandateID, MerchantID: one.MerchantID})
	}
	var result Mandate
	err = l.run(ctx, mandateID, keys, func(s *State, now time.Time) (e Effects, err error) {
		if known, ok := s.Mandates[mandateID]; ok && (known.EventSeq != read.EventSeq || !slices.Equal(known.Windows, read.Windows)) {
			return Effects{}, errMandateChanged
		}
		e, result, err = decideLower(s, mandateID, terms, spent, now)
		return e, err
	})
	return result, err
}

func decideLower(s *State, mandateID string, to Terms, spent []Spent, now time.Time) (Effects, Mandate, error) {
	m, ok := s.Mandates[mandateID]
	switch {
	case !ok:
		return Effects{}, Mandate{}, ErrNotFound
	case m.Status == MandateRevoked:
		return Effects{}, m, &Refusal{Code: MandateIsRevoked}
	case !now.Before(m.Terms.ExpiresAt):
		return Effects{}, m, &Refusal{Code: MandateExpired}
	case !to.lowers(m.Terms):
		return Effects{}, m, ErrWidened
	}
	day := m.CountingDay(now)
	var windows []Window
	for _, kind := range WindowKinds {
		if to.Cap(kind) == 0 {
			continue
		}
		w, had := m.Window(kind, day)
		if !had {
			w = usedOf(Window{Kind: kind}.At(day), spent)
		}
		if w.Cap = to.Cap(kind); w.Used > w.Cap {
			return Effects{}, m, &UsedError{Kind: kind, Used: w.Used}
		}
		windows = append(windows, w)
	}
	e, err := lowerPayees(s, m, to, spent, day)
	if err != nil {
		return Effects{}, m, err
	}
	m.Terms.MaxPerTx, m.Terms.MaxMonthly, m.Terms.Limits, m.Windows = to.MaxPerTx, to.MaxMonthly, to.Limits, windows
	e.Update.Mandates = []Mandate{m}
	return e, m, nil
}

// usedOf returns a window with what the charges of its period use.
func usedOf(w Window, spent []Spent) Window {
	for _, one := range spent {
		switch {
		case w.start(one.Day) != w.Start:
		case w.Counts():
			w.Used += one.Count
		default:
			w.Used += int64(one.Amount)
		}
	}
	return w
}

// lowerPayees compares what each payee got in the month with the limit for one payee. If the limit
// is new, the payees' tallies begin to count.
func lowerPayees(s *State, m Mandate, to Terms, spent []Spent, day Day) (e Effects, err error) {
	if to.MaxMonthlyPerPayee == m.Terms.MaxMonthlyPerPayee {
		return Effects{}, nil
	}
	of := map[string][]Spent{}
	for _, one := range spent {
		of[one.MerchantID] = append(of[one.MerchantID], one)
	}
	used := UsedError{Kind: PayeeLimit}
	for merchantID, charges := range of {
		key := TallyKey{MandateID: m.ID, MerchantID: merchantID}
		tally, known := s.Tallies[key]
		w := usedOf(Window{Kind: PayeeLimit}.At(day), charges)
		used.Used = max(used.Used, w.Used)
		tally = tally.with(w)
		if tally.TallyKey = key; known {
			e.Update.Tallies = append(e.Update.Tallies, tally)
		} else {
			e.Insert.Tallies = append(e.Insert.Tallies, tally)
		}
	}
	if used.Used > int64(to.MaxMonthlyPerPayee) {
		return Effects{}, &used
	}
	slices.SortFunc(e.Update.Tallies, func(a, b Tally) int { return cmp.Compare(a.MerchantID, b.MerchantID) })
	return e, nil
}

// lowers reports whether the terms are those of t with limits that are not higher, and perhaps
// further ones.
func (t Terms) lowers(of Terms) bool {
	return t.Narrows(of) && t.RoundUpRest == of.RoundUpRest && slices.Equal(t.Payees, of.Payees) &&
		slices.Equal(t.Rails, of.Rails) && t.ExpiresAt.Equal(of.ExpiresAt)
}
