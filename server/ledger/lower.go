package ledger

import (
	"context"
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

// LowerLimits lowers the limit for one payment and the limits of periods of an active mandate
// to those of terms. The rest of terms must be as before. It returns the mandate. Errors:
// [ErrNotFound], [ErrWidened] if terms allow more or have another kind of limit, [UsedError], and
// a [Refusal] if the mandate has ended. What a contract on a chain enforces does not change.
func (l *Ledger) LowerLimits(ctx context.Context, mandateID string, terms Terms) (m Mandate, err error) {
	err = l.run(ctx, mandateID, Keys{Mandates: []string{mandateID}}, func(s *State, now time.Time) (e Effects, err error) {
		e, m, err = decideLower(s, mandateID, terms, now)
		return e, err
	})
	if err != nil {
		return Mandate{}, fmt.Errorf("lower limits of mandate %s: %w", mandateID, err)
	}
	return m, nil
}

func decideLower(s *State, mandateID string, to Terms, now time.Time) (Effects, Mandate, error) {
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
	windows, err := m.changed(func(w Window) (Window, error) {
		w = w.At(day)
		if w.Cap = to.Cap(w.Kind); w.Used > w.Cap {
			return w, &UsedError{Kind: w.Kind, Used: w.Used}
		}
		return w, nil
	})
	if err != nil {
		return Effects{}, m, err
	}
	m.Terms.MaxPerTx, m.Terms.MaxMonthly, m.Terms.Limits, m.Windows = to.MaxPerTx, to.MaxMonthly, to.Limits, windows
	return Effects{Update: Rows{Mandates: []Mandate{m}}}, m, nil
}

// lowers reports whether the terms are those of t with limits of the same kinds that are not
// higher. The limit for one payee stays: how much each payee has got of it is not at hand.
func (t Terms) lowers(of Terms) bool {
	for _, kind := range WindowKinds {
		if (t.Cap(kind) > 0) != (of.Cap(kind) > 0) {
			return false
		}
	}
	return t.Narrows(of) && t.MaxMonthlyPerPayee == of.MaxMonthlyPerPayee && t.RoundUpRest == of.RoundUpRest && slices.Equal(t.Payees, of.Payees) &&
		slices.Equal(t.Rails, of.Rails) && t.ExpiresAt.Equal(of.ExpiresAt)
}
