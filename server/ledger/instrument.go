package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
)

// InstrumentState is the state of an instrument.
type InstrumentState string

// The states of an instrument, in their order; it never goes back.
const (
	Connecting    InstrumentState = "connecting"    // a rail is being asked to connect it
	Connected     InstrumentState = "connected"     // the rail has connected it
	Disconnecting InstrumentState = "disconnecting" // the rail must be asked to disconnect it
	Disconnected  InstrumentState = "disconnected"  // the rail has disconnected it, or never had it
)

// Instrument is a payment method on its rail. Its row is written before the rail is asked
// to connect it, so that a crash leaves no connected instrument without a row.
type Instrument struct {
	rail.Instrument

	// Reference identifies the instrument: the connection's reference and the rail.
	Reference string
	// SessionHash identifies the setup session.
	SessionHash string
	// MandateID is the mandate that the session completed with; empty if there is none.
	MandateID string
	// State is the instrument's state.
	State InstrumentState
	// Connection is the request to the rail, until the rail has answered.
	Connection rail.Connection
	// CreatedAt is the time of creation.
	CreatedAt time.Time
	// ChangedAt is the time of the last change.
	ChangedAt time.Time
}

// begun reports whether the rail was asked and has not yet answered.
func (i Instrument) begun() bool { return i.Connection.Reference != "" }

// BeginInstrument records an instrument of a pending session before its rail is asked to
// connect it. The instrument will be disconnected unless the session completes with it. If
// the reference exists, BeginInstrument returns its row. It returns [ErrNotFound] or
// [ErrSessionFinished].
func (l *Ledger) BeginInstrument(ctx context.Context, c rail.Connection, on rail.Name) (Instrument, error) {
	fresh := Instrument{
		Instrument: rail.Instrument{Rail: on}, Reference: c.Reference + "@" + string(on), SessionHash: c.Session, State: Connecting, Connection: c,
	}
	var result Instrument
	keys := Keys{Sessions: []string{c.Session}, Instruments: []string{fresh.Reference}}
	err := l.run(ctx, c.Session, keys, func(s *State, now time.Time) (Effects, error) {
		session, err := pendingSession(s, c.Session, now)
		if err != nil {
			return Effects{}, err
		}
		var begun bool
		if result, begun = s.Instruments[fresh.Reference]; begun {
			return Effects{}, nil
		}
		fresh.CreatedAt, fresh.ChangedAt = now, now
		result = fresh
		return Effects{Insert: Rows{
			Instruments: []Instrument{fresh},
			Unwindings:  []Unwinding{{ID: session.Hash, Kind: UnwindSession, Since: session.ExpiresAt, Due: session.ExpiresAt}},
		}}, nil
	})
	if err != nil {
		return Instrument{}, fmt.Errorf("begin instrument: %w", err)
	}
	return result, nil
}

// ConnectedInstrument records that a rail has connected an instrument. An instrument that
// must be disconnected stays in that state.
func (l *Ledger) ConnectedInstrument(ctx context.Context, reference string, in rail.Instrument) (Instrument, error) {
	return l.changeInstrument(ctx, reference, func(i *Instrument) bool {
		if i.State == Disconnected || !i.begun() {
			return false
		}
		i.Instrument, i.Connection = in, rail.Connection{}
		if i.State == Connecting {
			i.State = Connected
		}
		return true
	})
}

// DisconnectedInstrument records that a rail has disconnected an instrument, or never had it.
func (l *Ledger) DisconnectedInstrument(ctx context.Context, reference string) (Instrument, error) {
	return l.changeInstrument(ctx, reference, func(i *Instrument) bool {
		changed := i.State != Disconnected
		i.State, i.Connection = Disconnected, rail.Connection{}
		return changed
	})
}

func (l *Ledger) changeInstrument(ctx context.Context, reference string, change func(*Instrument) bool) (Instrument, error) {
	var result Instrument
	err := l.run(ctx, reference, Keys{Instruments: []string{reference}}, func(s *State, now time.Time) (Effects, error) {
		var ok bool
		if result, ok = s.Instruments[reference]; !ok {
			return Effects{}, ErrNotFound
		}
		if !change(&result) {
			return Effects{}, nil
		}
		result.ChangedAt = now
		return Effects{Update: Rows{Instruments: []Instrument{result}}}, nil
	})
	if err != nil {
		return Instrument{}, fmt.Errorf("change instrument: %w", err)
	}
	return result, nil
}

// EndInstruments returns the instruments of a session that must be disconnected: those
// without a mandate if the session has ended, and those of a refused attempt or that were
// replaced before that.
func (l *Ledger) EndInstruments(ctx context.Context, sessionHash string, references []string) ([]Instrument, error) {
	var ending []Instrument
	keys := Keys{Sessions: []string{sessionHash}, Instruments: references}
	err := l.run(ctx, sessionHash, keys, func(s *State, now time.Time) (e Effects, err error) {
		ending = nil
		session, known := s.Sessions[sessionHash]
		over := !known || session.At(now).Status != SessionPending
		for _, reference := range references {
			i, ok := s.Instruments[reference]
			if !ok || i.State == Disconnected || i.MandateID != "" && i.State != Disconnecting {
				continue
			}
			if over && i.State != Disconnecting {
				i.State, i.ChangedAt = Disconnecting, now
				e.Update.Instruments = append(e.Update.Instruments, i)
			}
			if i.State == Disconnecting {
				ending = append(ending, i)
			}
		}
		return e, nil
	})
	if err != nil {
		return nil, fmt.Errorf("end instruments: %w", err)
	}
	return ending, nil
}

// ending returns the rows that must be disconnected, with their new state.
func ending(s *State, references []string, now time.Time) []Instrument {
	var rows []Instrument
	for _, reference := range references {
		i, ok := s.Instruments[reference]
		if ok && (i.State == Connecting || i.State == Connected) {
			i.State, i.ChangedAt = Disconnecting, now
			rows = append(rows, i)
		}
	}
	return rows
}

// referencesOf returns the references of instruments.
func referencesOf(list []Instrument) []string {
	var references []string
	for _, i := range list {
		references = append(references, i.Reference)
	}
	return references
}
