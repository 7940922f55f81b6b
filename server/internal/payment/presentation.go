package payment

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// MaxPresentationLife is how long a presentation is good at most.
const MaxPresentationLife = mandate.DefaultMaxPresentationAge

// Errors of presentations.
var (
	// ErrTokenNeeded: the mandate's id alone is enough only for the merchant that
	// created it; anybody else could present what nobody gave them.
	ErrTokenNeeded = errors.New("payment: the mandate's token is needed, not its id")
	// ErrNoRail: no rail of this service pays such a payee.
	ErrNoRail = errors.New("payment: no rail pays this payee")
)

// PresentationError is a presentation that does not fit what it is used for.
type PresentationError struct {
	// Problem says for a person what does not fit.
	Problem string
}

// errBound is a presentation where the mandate itself belongs: whoever was shown
// one could do there what the holder did not agree to.
var errBound = &PresentationError{Problem: "This is a presentation: it is good only for the payment that it was made for, at /v1/paywall/settle."}

func (e *PresentationError) Error() string { return "payment: " + e.Problem }

// PresentationRequest asks to bind a mandate to one payment; its form is checked
// by the caller.
type PresentationRequest struct {
	Merchant  ledger.Merchant // who asks
	IDOrToken string
	// Audience is the origin of the resource, Nonce the id of its challenge.
	Audience string
	Nonce    string
	Amount   ledger.Micros
	PayTo    string
	Network  string
	Resource string
	// Life is how long it is good.
	Life      time.Duration
	RequestID string
}

// Presentation is a mandate bound to one payment.
type Presentation struct {
	Token     mandate.Token
	ExpiresAt time.Time
}

// Present binds a mandate to one payment, with the mandate's own key, which never
// leaves the vault but for this signature. The mandate in it is good only with
// this binding. Month and status are decided when it is settled, and only then.
//
// Errors: a [*ledger.Refusal], [ErrTokenNeeded], [*PresentationError],
// mandate.ErrMalformed, mandate.ErrInvalid, ledger.ErrNotFound.
func (s *Service) Present(ctx context.Context, r PresentationRequest) (Presentation, error) {
	m, err := s.Mandate(ctx, r.Merchant.ID, r.IDOrToken)
	if err != nil {
		return Presentation{}, err
	}
	if id.Valid(id.Mandate, r.IDOrToken) && m.MerchantID != r.Merchant.ID {
		return Presentation{}, ErrTokenNeeded
	}
	now := s.Clock.Now().Truncate(time.Second)
	refusal, err := s.refusePresenting(ctx, r, m, now)
	if err != nil {
		return Presentation{}, err
	}
	if refusal != nil {
		refusal.RequestID = r.RequestID
		return Presentation{}, refusal
	}
	return s.signPresentation(ctx, r, m, now)
}

// refusePresenting tells early what a settlement would refuse. It reads no money state.
func (s *Service) refusePresenting(ctx context.Context, r PresentationRequest, m ledger.Mandate, now time.Time) (*ledger.Refusal, error) {
	allowed := m.Terms.Allows(ledger.AnyPayee)
	payee, err := s.Accounts.MerchantByWallet(ctx, r.PayTo)
	switch {
	case err == nil:
		allowed = m.Terms.Allows(payee.ID)
	case !errors.Is(err, ledger.ErrNotFound):
		return nil, fmt.Errorf("find payee: %w", err)
	}
	switch {
	case !r.Merchant.Active:
		return &ledger.Refusal{Code: ledger.MerchantInactive}, nil
	case m.Status == ledger.MandateRevoked:
		return &ledger.Refusal{Code: ledger.MandateIsRevoked}, nil
	case !now.Before(m.Terms.ExpiresAt):
		return &ledger.Refusal{Code: ledger.MandateExpired}, nil
	case !allowed:
		return &ledger.Refusal{Code: ledger.MerchantNotAllowed}, nil
	case r.Amount > m.Terms.MaxPerTx:
		return &ledger.Refusal{Code: ledger.PerTxLimit, Limit: m.Terms.MaxPerTx}, nil
	}
	return nil, nil
}

// signPresentation makes a token of the mandate for this presentation alone, and signs the binding.
func (s *Service) signPresentation(ctx context.Context, r PresentationRequest, m ledger.Mandate, now time.Time) (Presentation, error) {
	key, err := s.sessionKey(ctx, m.ID)
	if errors.Is(err, ledger.ErrNotFound) { // destroyed a moment ago
		return Presentation{}, &ledger.Refusal{Code: ledger.MandateIsRevoked, RequestID: r.RequestID}
	}
	if err != nil {
		return Presentation{}, err
	}
	public, err := mandate.NewPublicKey(&key.PublicKey)
	if err != nil {
		return Presentation{}, err
	}
	terms, err := s.tokenTerms(ctx, m.ID, m.Terms, public, m.CreatedAt)
	if err != nil {
		return Presentation{}, err
	}
	terms.RequireBinding = true
	token, err := s.Issuer.Issue(ctx, terms)
	if err != nil {
		return Presentation{}, err
	}
	expires := now.Add(r.Life)
	bound, err := mandate.Present(token, key, mandate.Binding{
		Audience: r.Audience, Nonce: r.Nonce, IssuedAt: now, ExpiresAt: expires,
		Transaction: mandate.TransactionData{AmountMicros: int64(r.Amount), PayTo: r.PayTo, Network: r.Network, Resource: r.Resource},
	})
	return Presentation{Token: bound, ExpiresAt: expires}, err
}

// sessionKey opens the mandate's own key. It returns ledger.ErrNotFound where it
// was destroyed.
func (s *Service) sessionKey(ctx context.Context, mandateID string) (*ecdsa.PrivateKey, error) {
	rows, err := s.Accounts.SealedKeys(ctx, sessionKeyName(mandateID))
	if err != nil {
		return nil, fmt.Errorf("read session key of %s: %w", mandateID, err)
	}
	for _, row := range rows {
		if row.Name != sessionKeyName(mandateID) {
			continue
		}
		der, err := s.Vault.Open(ctx, sessionKeyLabel(mandateID), row.Sealed)
		if err != nil {
			return nil, err
		}
		defer clear(der)
		parsed, err := x509.ParsePKCS8PrivateKey(der)
		if err != nil {
			return nil, fmt.Errorf("parse session key of %s: %w", mandateID, err)
		}
		if key, ok := parsed.(*ecdsa.PrivateKey); ok {
			return key, nil
		}
		return nil, fmt.Errorf("session key of %s is no ECDSA key", mandateID)
	}
	return nil, fmt.Errorf("session key of %s: %w", mandateID, ledger.ErrNotFound)
}

// bindingProblem says what a rule of the key binding means, empty for other rules.
func bindingProblem(reason mandate.Reason) string {
	switch reason {
	case mandate.KBMissing:
		return "This mandate was cut out of a presentation; it is good only as a whole."
	case mandate.KBBadAud:
		return "The presentation was made for another audience than the origin of resource."
	case mandate.KBBadNonce:
		return "The presentation answers another challenge than challengeId."
	case mandate.KBStale:
		return "The presentation has expired. Ask for a new one."
	case mandate.KBIatInFuture:
		return "The presentation was made in the future, by this service's clock."
	default:
		if strings.HasPrefix(string(reason), "kb_") {
			return "The presentation's key binding is not valid (" + string(reason) + ")."
		}
		return ""
	}
}
