package ledger

import (
	"context"
	"fmt"
	"time"
)

// paused reports whether the person has paused the mandate.
func (m Mandate) paused() bool { return !m.PausedAt.IsZero() }

// Pause pauses a mandate or resumes it. Charges of a paused mandate are refused with
// [MandateIsPaused], and no further rail is asked for a pending one. What a rail was asked
// before may still settle, what a card holds may still be captured, and tabs stay open.
// Repeating it changes nothing. Errors: [ErrNotFound], and a [Refusal] if the mandate has
// ended.
func (l *Ledger) Pause(ctx context.Context, mandateID string, pause bool) (Mandate, error) {
	var result Mandate
	err := l.run(ctx, mandateID, Keys{Mandates: []string{mandateID}}, func(s *State, now time.Time) (e Effects, err error) {
		e, result, err = decidePause(s, mandateID, pause, now)
		return e, err
	})
	if err != nil {
		return Mandate{}, fmt.Errorf("pause mandate %s: %w", mandateID, err)
	}
	return result, nil
}

func decidePause(s *State, mandateID string, pause bool, now time.Time) (Effects, Mandate, error) {
	m, ok := s.Mandates[mandateID]
	if !ok {
		return Effects{}, Mandate{}, ErrNotFound
	}
	if ended := m.refuseEnded(now); ended != nil {
		return Effects{}, m, ended
	}
	if m.paused() == pause {
		return Effects{}, m, nil
	}
	if m.PausedAt = now; !pause {
		m.PausedAt = time.Time{}
	}
	return Effects{Update: Rows{Mandates: []Mandate{m}}}, m, nil
}

// ForgetEmail deletes the person's address from a mandate, also from one that has ended. It
// returns [ErrNotFound] if there is no such mandate.
func (l *Ledger) ForgetEmail(ctx context.Context, mandateID string) (Mandate, error) {
	var result Mandate
	err := l.run(ctx, mandateID, Keys{Mandates: []string{mandateID}}, func(s *State, _ time.Time) (Effects, error) {
		m, ok := s.Mandates[mandateID]
		if !ok {
			return Effects{}, ErrNotFound
		}
		changed := m.Email != ""
		m.Email = ""
		if result = m; !changed {
			return Effects{}, nil
		}
		return Effects{Update: Rows{Mandates: []Mandate{m}}}, nil
	})
	if err != nil {
		return Mandate{}, fmt.Errorf("forget the address of mandate %s: %w", mandateID, err)
	}
	return result, nil
}
