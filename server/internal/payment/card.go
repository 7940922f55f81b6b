package payment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

const (
	// maxCardsADay limits the cards that are tried for a change in a day, against those who
	// test stolen cards.
	maxCardsADay = 5
	// maxCards limits the cards that a mandate has had.
	maxCards = 20
)

// ErrTooManyCards reports that too many cards were tried for a mandate.
var ErrTooManyCards = errors.New("too many cards were tried for the mandate")

// CardSession is what a change of a mandate's card has at the rails instead of a setup
// session. It ends when the card has changed, or the mandate has ended.
func (s *Service) CardSession(m ledger.Mandate) Session {
	session := ledger.Session{
		Hash: id.Hash("card of " + m.ID + " " + m.Card), MerchantID: m.MerchantID, Status: ledger.SessionPending, Terms: m.Terms,
	}
	session.Terms.Rails = []rail.Name{rail.Card}
	if !slices.Contains(m.Terms.Rails, rail.Card) || m.Status == ledger.MandateRevoked || !s.Clock().Before(m.Terms.ExpiresAt) {
		session.Status = ledger.SessionFailed
	}
	return Session{Session: session}
}

// ChangeCard connects a card, which pays for what a mandate is charged from now on. Before
// prepare returns, the mandate has the card before; prepare gets the reference of the new one.
// It returns ledger.ErrSessionFinished if the mandate has ended or its card has changed
// meanwhile, rail.ErrUnknownMethod, [ErrTooManyCards], or a [*MethodError].
func (s *Service) ChangeCard(ctx context.Context, m ledger.Mandate, method string, prepare func(ctx context.Context, reference string) error) (ledger.Mandate, error) {
	done, err := s.begin()
	if err != nil {
		return ledger.Mandate{}, err
	}
	defer done()
	session := s.CardSession(m)
	if session.Status != ledger.SessionPending {
		return m, ledger.ErrSessionFinished
	}
	card, err := s.connectCard(ctx, m, session, method)
	if err == nil {
		err = prepare(ctx, card.Reference)
	}
	if err == nil {
		m, err = s.Ledger.ChangeCard(ctx, m.ID, card.Reference)
	}
	var ended *ledger.Refusal
	if errors.As(err, &ended) || errors.Is(err, ledger.ErrConflict) {
		err = ledger.ErrSessionFinished
	}
	if err != nil {
		return m, err
	}
	s.wakeUnwinding()
	return m, nil
}

// connectCard connects a card for a change.
func (s *Service) connectCard(ctx context.Context, m ledger.Mandate, session Session, method string) (ledger.Instrument, error) {
	r, ok := s.Rails.Rail(rail.Card)
	if !ok {
		return ledger.Instrument{}, rail.ErrUnknownMethod
	}
	limits, err := s.limits(ctx, m.Terms)
	if err != nil {
		return ledger.Instrument{}, err
	}
	ended, err := s.triedCards(ctx, m, session)
	if err != nil {
		return ledger.Instrument{}, err
	}
	c := rail.Connection{
		// One reference per attempt: a form that is sent twice connects once.
		Reference: session.Hash[:32] + "." + strconv.Itoa(ended) + "." + method,
		Method:    method, Email: m.Email, Session: session.Hash, Limits: limits,
	}
	begun, err := s.Ledger.BeginCard(ctx, m.ID, c)
	if err != nil {
		return ledger.Instrument{}, err
	}
	card, err := s.connectBegun(ctx, r, begun, c)
	var refused *rail.RefusedError
	if errors.As(err, &refused) {
		return card, &MethodError{Method: method, Reason: refused.Reason, AttemptsLeft: 1}
	}
	if err != nil {
		return card, fmt.Errorf("connect card: %w", err)
	}
	return card, nil
}

// triedCards returns the number of cards that were tried for this change and have ended.
func (s *Service) triedCards(ctx context.Context, m ledger.Mandate, session Session) (ended int, err error) {
	tried, err := s.Ledger.InstrumentsOfSession(ctx, session.Hash)
	if err != nil {
		return 0, fmt.Errorf("read cards of a change: %w", err)
	}
	had, err := s.Ledger.InstrumentsOfMandate(ctx, m.ID)
	if err != nil {
		return 0, fmt.Errorf("read cards of %s: %w", m.ID, err)
	}
	today := 0
	for _, i := range append(tried, had...) {
		if i.Rail == rail.Card && i.CreatedAt.After(s.Clock().Add(-24*time.Hour)) {
			today++
		}
	}
	for _, i := range tried {
		if i.State == ledger.Disconnecting || i.State == ledger.Disconnected {
			ended++
		}
	}
	if len(had) >= maxCards || today > maxCardsADay { // one of them is being sent twice, or was there before
		return ended, ErrTooManyCards
	}
	return ended, nil
}
