package payment

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// SessionLifetime is the time in which the person must decide.
const SessionLifetime = 24 * time.Hour

// The largest limits of a session. That in all is what the largest monthly limit allows in
// two years, which may touch 25 calendar months.
const (
	MaxLimitCents     = 10_000_000
	MaxTotalCents     = 25 * MaxLimitCents
	MaxPaymentsPerDay = 1_000_000
)

// NewSession describes a session that a merchant creates. The caller has validated it.
type NewSession struct {
	Merchant ledger.Merchant
	Terms    ledger.Terms
	// DefaultExpiry reports whether the merchant left Terms.ExpiresAt to the service,
	// which then is a year from now.
	DefaultExpiry bool
	ReturnURL     string
	Metadata      map[string]string
	// IdempotencyKey identifies the request: repeating it returns the same session.
	// Empty: each request creates one.
	IdempotencyKey string
}

// Session is a setup session with its secrets.
type Session struct {
	ledger.Session

	// Token opens the session. Only its hash is stored.
	Token string
	// Mandate is the mandate's token, once the session is completed.
	Mandate string
	// Replayed reports whether an earlier request with the same key created the session.
	Replayed bool
}

// SetupURL returns the address of the page on which the person decides.
func (s *Service) SetupURL(token string) string { return s.BaseURL + "/setup/" + token }

// CreateSession creates a pending session, or returns the one that an earlier request with
// the same key created. It returns ledger.ErrIdempotencyMismatch if that request differs.
func (s *Service) CreateSession(ctx context.Context, n NewSession) (Session, error) {
	now := s.Clock()
	token := s.newSessionToken(n)
	session := ledger.Session{
		Hash: id.Hash(token), MerchantID: n.Merchant.ID, Status: ledger.SessionPending, Terms: n.Terms,
		ReturnURL: n.ReturnURL, Metadata: n.Metadata, CreatedAt: now, ExpiresAt: now.Add(SessionLifetime),
	}
	if err := s.Ledger.CreateSession(ctx, session); err != nil {
		return Session{}, err
	}
	if n.IdempotencyKey == "" {
		return Session{Session: session, Token: token}, nil
	}
	stored, err := s.Session(ctx, token)
	if err != nil {
		return Session{}, err
	}
	if !n.repeats(stored.Session) {
		return Session{}, ledger.ErrIdempotencyMismatch
	}
	stored.Replayed = stored.CreatedAt.UnixMilli() != now.UnixMilli()
	return stored, nil
}

// newSessionToken returns a random token or, for a request with a key, one that is derived
// from the merchant and the key. Only its hash is stored, so a repeated request could not
// be answered with a random one.
func (s *Service) newSessionToken(n NewSession) string {
	if n.IdempotencyKey == "" {
		return id.NewCapability(id.Session)
	}
	mac := hmac.New(sha256.New, s.ReceiptKey)
	mac.Write([]byte("setup session " + n.Merchant.ID + " " + n.IdempotencyKey))
	return id.Session + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// repeats reports whether n is the request that created a session.
func (n NewSession) repeats(created ledger.Session) bool {
	sameExpiry := n.Terms.ExpiresAt.Equal(created.Terms.ExpiresAt)
	if n.DefaultExpiry {
		late := created.Terms.ExpiresAt.Sub(created.CreatedAt.AddDate(1, 0, 0))
		sameExpiry = late.Abs() < time.Minute
	}
	return sameExpiry && n.Terms.MaxPerTx == created.Terms.MaxPerTx && n.Terms.MaxMonthly == created.Terms.MaxMonthly && n.Terms.Limits == created.Terms.Limits &&
		slices.Equal(n.Terms.Rails, created.Terms.Rails) && slices.Equal(n.Terms.Payees, created.Terms.Payees) &&
		n.ReturnURL == created.ReturnURL && maps.Equal(n.Metadata, created.Metadata)
}

// Session returns the current state of a session. It returns ledger.ErrNotFound if there
// is no such session.
func (s *Service) Session(ctx context.Context, token string) (Session, error) {
	stored, err := s.Ledger.Session(ctx, id.Hash(token))
	if err != nil {
		return Session{}, fmt.Errorf("read session: %w", err)
	}
	session := Session{Session: stored.At(s.Clock()), Token: token}
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

// mandateOf returns the mandate with an id or a token. It returns mandate.ErrMalformed,
// mandate.ErrInvalid, a [*PresentationError], or ledger.ErrNotFound.
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

// Mandate returns a mandate that a merchant may see: one that it created, or one that
// allows payments to it. It returns mandate.ErrMalformed, mandate.ErrInvalid, or
// ledger.ErrNotFound.
func (s *Service) Mandate(ctx context.Context, merchantID, idOrToken string) (ledger.Mandate, error) {
	m, err := s.mandateOf(ctx, idOrToken)
	if err == nil && m.MerchantID != merchantID && !m.Terms.Allows(merchantID) {
		return ledger.Mandate{}, ledger.ErrNotFound
	}
	return m, err
}

// Revoke revokes a mandate that the merchant created; see [Service.RevokeAs]. It returns
// mandate.ErrMalformed, mandate.ErrInvalid, or ledger.ErrNotFound.
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

// RevokedOnRail revokes the mandate of an instrument that its payer has ended on a rail.
// If the instrument is not bound to a mandate, because the service died before, it is
// found by its session; if that session ended without a mandate, or with another
// instrument, there is nothing to revoke. It returns [rail.ErrUndecided] while the
// session is pending.
func (s *Service) RevokedOnRail(ctx context.Context, e rail.Ended) error {
	if e.MandateID == "" {
		session, err := s.Ledger.Session(ctx, e.Session)
		switch {
		case errors.Is(err, ledger.ErrNotFound):
			return nil
		case err != nil:
			return fmt.Errorf("read session of %s: %w", e.Method, err)
		case session.At(s.Clock()).Status == ledger.SessionPending:
			return rail.ErrUndecided
		case session.MandateID == "":
			return nil
		}
		m, err := s.Ledger.Mandate(ctx, session.MandateID)
		if err != nil {
			return err
		}
		instruments, err := s.Instruments(ctx, m.ID, m.Card)
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

// Charges returns a merchant's charges, newest first, beginning after the charge before.
// It returns ledger.ErrNotFound if that charge is not the merchant's.
func (s *Service) Charges(ctx context.Context, merchantID, before string, limit int) ([]ledger.Charge, error) {
	if before != "" {
		if _, err := s.ChargeOf(ctx, merchantID, before); err != nil {
			return nil, err
		}
	}
	return s.Ledger.Charges(ctx, merchantID, before, limit)
}

// ChargeOf returns a charge of a merchant. It returns ledger.ErrNotFound if the merchant
// has no such charge.
func (s *Service) ChargeOf(ctx context.Context, merchantID, chargeID string) (ledger.Charge, error) {
	c, err := s.Ledger.Charge(ctx, chargeID)
	if err == nil && c.MerchantID != merchantID {
		return ledger.Charge{}, ledger.ErrNotFound
	}
	return c, err
}

// Stats returns a merchant's totals.
func (s *Service) Stats(ctx context.Context, merchantID string) (ledger.Stats, error) {
	return s.Ledger.Stats(ctx, merchantID, s.Clock())
}

// UnknownMerchant returns the first id that belongs to no merchant, or an empty string.
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

// Confirmed returns the mandate of a completed session.
func (s *Service) Confirmed(ctx context.Context, session Session) (ledger.Mandate, error) {
	return s.Ledger.Mandate(ctx, session.MandateID)
}
