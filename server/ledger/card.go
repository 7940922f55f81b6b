package ledger

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	// changedCard is the prefix of the references of cards that a person changed to.
	changedCard = "card/"
	// cardLifetime is the time in which a connected card must be changed to.
	cardLifetime = 10 * time.Minute
)

// Pays reports whether an instrument of a mandate pays for what has this card: see [Charge.Card].
// What is not a card always does.
func (i Instrument) Pays(card string) bool {
	if i.Rail != rail.Card {
		return true
	}
	return i.Reference == card || card == "" && !strings.HasPrefix(i.Reference, changedCard)
}

// BeginCard records a card before its rail is asked to connect it. It is disconnected unless
// [Ledger.ChangeCard] follows. If the reference exists, BeginCard returns its row. Errors:
// [ErrNotFound], and a [Refusal] if the mandate has ended.
func (l *Ledger) BeginCard(ctx context.Context, mandateID string, c rail.Connection) (Instrument, error) {
	fresh := Instrument{
		Instrument: rail.Instrument{Rail: rail.Card}, Reference: changedCard + c.Reference, SessionHash: c.Session, State: Connecting, Connection: c,
	}
	var result Instrument
	keys := Keys{Mandates: []string{mandateID}, Instruments: []string{fresh.Reference}}
	err := l.run(ctx, mandateID, keys, func(s *State, now time.Time) (Effects, error) {
		if _, err := s.changeable(mandateID, now); err != nil {
			return Effects{}, err
		}
		var begun bool
		if result, begun = s.Instruments[fresh.Reference]; begun {
			return Effects{}, nil
		}
		fresh.CreatedAt, fresh.ChangedAt = now, now
		result = fresh
		until := now.Add(cardLifetime)
		return Effects{Insert: Rows{
			Instruments: []Instrument{fresh}, Unwindings: []Unwinding{{ID: c.Session, Kind: UnwindSession, Since: until, Due: until}},
		}}, nil
	})
	if err != nil {
		return Instrument{}, fmt.Errorf("begin card of mandate %s: %w", mandateID, err)
	}
	return result, nil
}

// changeable returns a mandate whose card can change.
func (s *State) changeable(mandateID string, now time.Time) (Mandate, error) {
	m, ok := s.Mandates[mandateID]
	if !ok || len(m.rails([]rail.Name{rail.Card})) == 0 {
		return Mandate{}, ErrNotFound
	}
	if ended := m.refuseEnded(now); ended != nil {
		return Mandate{}, ended
	}
	return m, nil
}

// ChangeCard makes a connected card pay for what a mandate is charged from now on, and
// records the unwinding of the card before. What began with that card ends with it: pending
// charges, holds, tabs and refunds. Repeating it changes nothing. Errors: [ErrNotFound],
// [ErrConflict] if the card is not connected any more or the mandate has another one since,
// and a [Refusal] if the mandate has ended.
func (l *Ledger) ChangeCard(ctx context.Context, mandateID, reference string) (Mandate, error) {
	rows, err := l.InstrumentsOfMandate(ctx, mandateID)
	if err != nil {
		return Mandate{}, fmt.Errorf("read instruments of %s: %w", mandateID, err)
	}
	var result Mandate
	keys := Keys{Mandates: []string{mandateID}, Instruments: append(referencesOf(rows), reference)}
	err = l.run(ctx, mandateID, keys, func(s *State, now time.Time) (e Effects, err error) {
		e, result, err = decideCard(s, mandateID, reference, now)
		return e, err
	})
	if err != nil {
		return Mandate{}, fmt.Errorf("change card of mandate %s: %w", mandateID, err)
	}
	return result, nil
}

func decideCard(s *State, mandateID, reference string, now time.Time) (Effects, Mandate, error) {
	m, err := s.changeable(mandateID, now)
	if err != nil || m.Card == reference {
		return Effects{}, m, err
	}
	fresh, ok := s.Instruments[reference]
	if !ok {
		return Effects{}, m, ErrNotFound
	}
	var replaced []Instrument
	var e Effects
	for _, old := range s.Instruments {
		if old.MandateID == m.ID && old.Rail == rail.Card && old.Pays(m.Card) {
			replaced = ending(s, []string{old.Reference}, now)
			if old.SessionHash != "" { // else it is disconnected with the mandate's end
				e.Insert.Unwindings = []Unwinding{unwindSession(old.SessionHash, now)}
			}
		}
	}
	if fresh.State != Connected || fresh.MandateID != "" || len(replaced) == 0 {
		return Effects{}, m, ErrConflict
	}
	fresh.MandateID, fresh.ChangedAt, m.Card = m.ID, now, reference
	e.Update = Rows{Mandates: []Mandate{m}, Instruments: append(replaced, fresh)}
	return e, m, nil
}
