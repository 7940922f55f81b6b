package payment

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// Redirector returns the first rail on which a person connects a payment method at another
// address, and reports whether there is one.
func (s *Service) Redirector(rails []rail.Name) (rail.Redirector, bool) {
	for _, name := range s.Rails.Names() {
		one, _ := s.Rails.Rail(name)
		if r, ok := one.(rail.Redirector); ok && slices.Contains(rails, name) {
			return r, true
		}
	}
	return nil, false
}

// BeginSetup returns the address at which the person connects a payment method for a
// session. Browser is a secret of the person's browser; the same one begins one setup. The
// addresses and the notice are those of setup. It returns ledger.ErrSessionFinished or
// rail.ErrUnknownMethod.
func (s *Service) BeginSetup(ctx context.Context, session Session, browser string, setup rail.Setup) (string, error) {
	r, ok := s.Redirector(session.Terms.Rails)
	switch {
	case session.Status != ledger.SessionPending:
		return "", ledger.ErrSessionFinished
	case !ok:
		return "", rail.ErrUnknownMethod
	}
	setup.Reference, setup.Session = session.Hash[:32]+".setup."+id.Hash(browser)[:16], session.Hash
	return r.BeginSetup(ctx, setup)
}

// EndSetup makes a payment method useless that a person connected for a pending session at
// another address: it came back in another browser than the one that left. It does nothing
// if the session has no such method.
func (s *Service) EndSetup(ctx context.Context, session Session, method string) error {
	r, ok := s.Redirector(session.Terms.Rails)
	if !ok || method == "" || session.Status != ledger.SessionPending {
		return nil
	}
	if err := r.EndSetup(ctx, method, session.Hash); err != nil && !errors.Is(err, rail.ErrUnknownMethod) {
		return err
	}
	return nil
}

// PayerEmail returns the email address that the card processor has of a mandate's payer, or
// an empty string.
func (s *Service) PayerEmail(ctx context.Context, mandateID string) (string, error) {
	m, err := s.Ledger.Mandate(ctx, mandateID)
	if err != nil {
		return "", err
	}
	instruments, err := s.Instruments(ctx, m.ID, m.Card)
	if err != nil {
		return "", err
	}
	for _, in := range instruments {
		one, _ := s.Rails.Rail(in.Rail)
		if a, ok := one.(rail.Addressed); ok {
			return a.PayerEmail(ctx, in)
		}
	}
	return "", nil
}

// SetupProof returns the proof of something that belongs to a session: the return of a
// browser, or a method that was connected. Only the service can make it.
func (s *Service) SetupProof(session Session, kind, of string) string {
	mac := hmac.New(sha256.New, s.ReceiptKey)
	mac.Write([]byte("setup/" + kind + "/" + session.Hash + "/" + of))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// IsSetupProof reports whether a text is the proof that SetupProof returns.
func (s *Service) IsSetupProof(session Session, kind, of, proof string) bool {
	return of != "" && hmac.Equal([]byte(proof), []byte(s.SetupProof(session, kind, of)))
}
