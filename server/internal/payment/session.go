package payment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// SessionLifetime is how long a person has to decide.
const SessionLifetime = 24 * time.Hour

// NewSession is what a merchant asks for; checked by the caller.
type NewSession struct {
	Merchant  ledger.Merchant
	Terms     ledger.Terms
	ReturnURL string
	Metadata  map[string]string
}

// Session is a setup session with what only its holders may see.
type Session struct {
	ledger.Session

	// Token opens the session. It is not stored: only its hash is.
	Token string
	// Mandate is the mandate's text, once completed.
	Mandate string
}

// SetupURL is where the person decides.
func (s *Service) SetupURL(token string) string { return s.BaseURL + "/setup/" + token }

// CreateSession makes a pending session.
func (s *Service) CreateSession(ctx context.Context, n NewSession) (Session, error) {
	now := s.Clock.Now()
	token := id.NewCapability(id.Session)
	session := ledger.Session{
		Hash: id.Hash(token), MerchantID: n.Merchant.ID, Status: ledger.SessionPending, Terms: n.Terms,
		ReturnURL: n.ReturnURL, Metadata: n.Metadata, CreatedAt: now, ExpiresAt: now.Add(SessionLifetime),
	}
	if err := s.Ledger.CreateSession(ctx, session); err != nil {
		return Session{}, err
	}
	return Session{Session: session, Token: token}, nil
}

// Session finds a session by its token, as it is now. It returns
// ledger.ErrNotFound where there is none.
func (s *Service) Session(ctx context.Context, token string) (Session, error) {
	stored, err := s.Ledger.Session(ctx, id.Hash(token))
	if err != nil {
		return Session{}, fmt.Errorf("read session: %w", err)
	}
	session := Session{Session: stored.At(s.Clock.Now()), Token: token}
	if session.Status != ledger.SessionCompleted || len(session.SealedToken) == 0 { // the token is kept for 30 days
		return session, nil
	}
	text, err := s.Vault.Open(ctx, tokenLabel(session.MandateID), session.SealedToken)
	if err != nil {
		return Session{}, err
	}
	session.Mandate = string(text)
	return session, nil
}

// Decline ends a pending session without a mandate. It returns
// ledger.ErrNotFound or ledger.ErrSessionFinished.
func (s *Service) Decline(ctx context.Context, token string) error {
	_, err := s.Ledger.FailSession(ctx, id.Hash(token), ledger.SessionDeclined)
	return err
}

// mandateOf finds the mandate that a merchant means, by its id or its token.
// Errors: mandate.ErrMalformed, mandate.ErrInvalid, a [*PresentationError], ledger.ErrNotFound.
func (s *Service) mandateOf(ctx context.Context, idOrToken string) (ledger.Mandate, error) {
	mandateID := idOrToken
	if !id.Valid(id.Mandate, idOrToken) {
		m, err := s.Verifier.Verify(ctx, idOrToken)
		if err != nil {
			return ledger.Mandate{}, err
		}
		if m.Bound {
			return ledger.Mandate{}, errBound
		}
		mandateID = m.ID
	}
	return s.Ledger.Mandate(ctx, mandateID)
}

// Mandate finds a mandate that a merchant may see: its own, or one that allows
// it to be paid. Errors: mandate.ErrMalformed, mandate.ErrInvalid, ledger.ErrNotFound.
func (s *Service) Mandate(ctx context.Context, merchantID, idOrToken string) (ledger.Mandate, error) {
	m, err := s.mandateOf(ctx, idOrToken)
	if err == nil && m.MerchantID != merchantID && !m.Terms.Allows(merchantID) {
		return ledger.Mandate{}, ledger.ErrNotFound
	}
	return m, err
}

// Revoke ends a mandate of a merchant's own; see [Service.RevokeAs].
// Errors: mandate.ErrMalformed, mandate.ErrInvalid, ledger.ErrNotFound.
func (s *Service) Revoke(ctx context.Context, merchantID, idOrToken string) (ledger.Mandate, error) {
	m, err := s.mandateOf(ctx, idOrToken)
	if err != nil {
		return ledger.Mandate{}, err
	}
	if m.MerchantID != merchantID {
		return ledger.Mandate{}, ledger.ErrNotFound
	}
	return s.RevokeAs(ctx, m.ID, ledger.RevokedByMerchant)
}

// RevokedOnRail ends the mandate of an instrument that its payer has ended on a rail.
// One that was not bound, because this service died before, is found by its session;
// where that has ended without a mandate, or with one of another instrument, there is
// none to end. It returns [rail.ErrUndecided] while the session is pending.
func (s *Service) RevokedOnRail(ctx context.Context, e rail.Ended) error {
	if e.MandateID == "" {
		session, err := s.Ledger.Session(ctx, e.Session)
		switch {
		case errors.Is(err, ledger.ErrNotFound):
			return nil
		case err != nil:
			return fmt.Errorf("read session of %s: %w", e.Method, err)
		case session.At(s.Clock.Now()).Status == ledger.SessionPending:
			return rail.ErrUndecided
		case session.MandateID == "":
			return nil
		}
		m, err := s.Ledger.Mandate(ctx, session.MandateID)
		if err != nil {
			return err
		}
		instruments, err := s.Instruments(ctx, m.ID)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(instruments, func(in rail.Instrument) bool { return in.Method == e.Method }) {
			return nil
		}
		e.MandateID = m.ID
	}
	_, err := s.RevokeAs(ctx, e.MandateID, ledger.RevokedByContract)
	return err
}

// Charges lists a merchant's charges, newest first, after the one with the id
// before. It returns ledger.ErrNotFound where that is none of the merchant's.
func (s *Service) Charges(ctx context.Context, merchantID, before string, limit int) ([]ledger.Charge, error) {
	if before != "" {
		if _, err := s.ChargeOf(ctx, merchantID, before); err != nil {
			return nil, err
		}
	}
	return s.Ledger.Charges(ctx, merchantID, before, limit)
}

// ChargeOf finds a charge that a merchant was paid by. It returns ledger.ErrNotFound.
func (s *Service) ChargeOf(ctx context.Context, merchantID, chargeID string) (ledger.Charge, error) {
	c, err := s.Ledger.Charge(ctx, chargeID)
	if err == nil && c.MerchantID != merchantID {
		return ledger.Charge{}, ledger.ErrNotFound
	}
	return c, err
}

// Stats are a merchant's totals now.
func (s *Service) Stats(ctx context.Context, merchantID string) (ledger.Stats, error) {
	return s.Ledger.Stats(ctx, merchantID, s.Clock.Now())
}

// UnknownMerchant returns the first id that is no merchant's, or "".
func (s *Service) UnknownMerchant(ctx context.Context, ids []string) (string, error) {
	for _, merchantID := range ids {
		_, err := s.Accounts.Merchant(ctx, merchantID)
		if errors.Is(err, ledger.ErrNotFound) {
			return merchantID, nil
		}
		if err != nil {
			return "", fmt.Errorf("read merchant %s: %w", merchantID, err)
		}
	}
	return "", nil
}

// Confirmed is the mandate that a completed session led to.
func (s *Service) Confirmed(ctx context.Context, session Session) (ledger.Mandate, error) {
	return s.Ledger.Mandate(ctx, session.MandateID)
}
