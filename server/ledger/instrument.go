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
	Disconnecting InstrumentState = "disconnecting" // the rail is to be asked to end it
	Disconnected  InstrumentState = "disconnected"  // the rail has ended it, or never had it
)

// Instrument is a payment method on its rail. Its row exists before the rail is
// asked to connect it, so that none is left connected by a crash.
type Instrument struct {
	rail.Instrument

	Reference   string // the connection's, and the rail
	SessionHash string
	MandateID   string // once its session is completed with it
	State       InstrumentState
	// Connection is what the rail was asked, until it has answered.
	Connection rail.Connection
	CreatedAt  time.Time
	ChangedAt  time.Time
}

// begun reports whether the rail was asked and has not answered.
func (i Instrument) begun() bool { return i.Connection.Reference != "" }

// BeginInstrument records that a rail is about to be asked to connect an
// instrument for a pending session, and that it is to be ended unless the session
// is completed with it. The same reference again returns its row. BeginInstrument returns
// [ErrNotFound] or [ErrSessionFinished].
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

// ConnectedInstrument records what a rail has connected. One that is to be ended
// meanwhile stays so.
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

// DisconnectedInstrument records that a rail has ended an instrument, or never had it.
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

// EndInstruments decides which of a session's instruments are to be ended, and
// returns them: those of no mandate once the session is over, and before that those
// of an attempt that was refused.
func (l *Ledger) EndInstruments(ctx context.Context, sessionHash string, references []string) ([]Instrument, error) {
	var ending []Instrument
	keys := Keys{Sessions: []string{sessionHash}, Instruments: references}
	err := l.run(ctx, sessionHash, keys, func(s *State, now time.Time) (e Effects, err error) {
		ending = nil
		session, known := s.Sessions[sessionHash]
		over := !known || session.At(now).Status != SessionPending
		for _, reference := range references {
			i, ok := s.Instruments[reference]
			if !ok || i.MandateID != "" || i.State == Disconnected {
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

// ending returns the rows of the references that are still to be ended, as they are then.
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

// referencesOf are the references of instruments.
func referencesOf(list []Instrument) []string {
	var references []string
	for _, i := range list {
		references = append(references, i.Reference)
	}
	return references
}
