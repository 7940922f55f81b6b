package ledger

import (
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/webhook"
)

// The reasons for which a session fails.
const (
	SessionDeclined        = "declined"
	SessionExpired         = "expired"
	SessionTooManyAttempts = "too_many_attempts"
)

// MaxAttempts is the number of refused payment methods that fails a session.
const MaxAttempts = 5

// At returns the state of the session at a time: a pending session fails when it expires.
func (s Session) At(now time.Time) Session {
	if s.Status == SessionPending && !now.Before(s.ExpiresAt) {
		s.Status, s.FailureReason = SessionFailed, SessionExpired
	}
	return s
}

// Completion is what a person confirmed on the setup page.
type Completion struct {
	// SessionHash identifies the session.
	SessionHash string
	// MandateID is the id of the new mandate.
	MandateID string
	// Terms are those of the session, or narrower.
	Terms Terms
	// Instruments are the references of connected instruments.
	Instruments []string
	// Email is the person's address; may be empty.
	Email string
	// SealedToken is the sealed token of the mandate.
	SealedToken []byte
}

// Narrows reports whether t is valid and allows nothing that wide does not allow.
func (t Terms) Narrows(wide Terms) bool {
	if t.MaxPerTx > wide.MaxPerTx || t.ExpiresAt.After(wide.ExpiresAt) {
		return false
	}
	for _, p := range t.Payees {
		if !wide.Allows(p) {
			return false
		}
	}
	return t.MaxPerTx > 0 && t.MaxPerTx <= t.MaxMonthly && len(t.Payees) > 0 && t.narrowsWindows(wide)
}

func (c Completion) decide(s *State, now time.Time) (Effects, Mandate, error) {
	if m, made := s.Mandates[c.MandateID]; made && s.Sessions[c.SessionHash].MandateID == m.ID {
		return Effects{}, m, nil // this very command: it was committed, and its result was lost
	}
	session, err := pendingSession(s, c.SessionHash, now)
	if err != nil {
		return Effects{}, Mandate{}, err
	}
	if !c.Terms.Narrows(session.Terms) {
		return Effects{}, Mandate{}, ErrWidened
	}
	instruments, err := c.bind(s, now)
	if err != nil {
		return Effects{}, Mandate{}, err
	}
	session.Status, session.MandateID, session.SealedToken = SessionCompleted, c.MandateID, c.SealedToken
	m := Mandate{
		ID: c.MandateID, MerchantID: session.MerchantID, Status: MandateActive, Terms: c.Terms,
		Windows: newWindows(c.Terms, DayOf(now)), Email: c.Email, CreatedAt: now,
	}
	var e Effects
	recordEvent(&e, &m, m.MerchantID, webhook.MandateCreated, mandateData(&m), now)
	e.Update.Sessions, e.Insert.Mandates = []Session{session}, []Mandate{m}
	e.Update.Instruments = instruments
	e.Insert.Unwindings = []Unwinding{unwindSession(session.Hash, now)} // instruments of other attempts
	return e, m, nil
}

// bind assigns the session's instruments to its mandate.
func (c Completion) bind(s *State, now time.Time) ([]Instrument, error) {
	var bound []Instrument
	for _, reference := range c.Instruments {
		i, ok := s.Instruments[reference]
		if !ok || i.SessionHash != c.SessionHash || i.State != Connected || i.MandateID != "" {
			return nil, fmt.Errorf("%w: instrument %s is not connected for the session", ErrInvariant, reference)
		}
		i.MandateID, i.ChangedAt = c.MandateID, now
		bound = append(bound, i)
	}
	return bound, nil
}

// pendingSession returns a session that can still change.
func pendingSession(s *State, hash string, now time.Time) (Session, error) {
	session, ok := s.Sessions[hash]
	if !ok {
		return Session{}, ErrNotFound
	}
	if session = session.At(now); session.Status != SessionPending {
		return session, ErrSessionFinished
	}
	return session, nil
}

// decideFail fails a pending session.
func decideFail(s *State, hash, reason string, now time.Time) (Effects, Session, error) {
	session, err := pendingSession(s, hash, now)
	if err != nil {
		return Effects{}, session, err
	}
	session.Status, session.FailureReason = SessionFailed, reason
	return Effects{
		Update: Rows{Sessions: []Session{session}},
		Insert: Rows{Unwindings: []Unwinding{unwindSession(hash, now)}},
	}, session, nil
}

// decideAttempt counts a refused payment method; the last allowed one fails the session. The
// instruments of the attempt are marked for disconnection.
func decideAttempt(s *State, hash string, references []string, now time.Time) (Effects, Session, error) {
	session, err := pendingSession(s, hash, now)
	if err != nil {
		return Effects{}, session, err
	}
	session.Attempts++
	if session.Attempts >= MaxAttempts {
		session.Status, session.FailureReason = SessionFailed, SessionTooManyAttempts
	}
	return Effects{
		Update: Rows{Sessions: []Session{session}, Instruments: ending(s, references, now)},
		Insert: Rows{Unwindings: []Unwinding{unwindSession(hash, now)}},
	}, session, nil
}

// decideRevoke revokes a mandate and records the unwinding of its status, key and
// instruments. A revoked mandate does not change, and has no second event.
func decideRevoke(s *State, mandateID string, by Revoker, references []string, now time.Time) (Effects, Mandate, error) {
	m, ok := s.Mandates[mandateID]
	if !ok {
		return Effects{}, Mandate{}, ErrNotFound
	}
	if m.Status == MandateRevoked {
		return Effects{}, m, nil
	}
	m.Status, m.RevokedBy, m.RevokedAt = MandateRevoked, by, now
	var e Effects
	recordEvent(&e, &m, m.MerchantID, webhook.MandateRevoked, mandateData(&m), now)
	e.Update.Mandates, e.Update.Instruments = []Mandate{m}, ending(s, references, now)
	e.Insert.Unwindings = []Unwinding{{ID: m.ID, Kind: UnwindMandate, Since: now, Due: now}}
	return e, m, nil
}
