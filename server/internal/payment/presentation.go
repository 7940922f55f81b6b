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

// MaxPresentationLife is the longest validity of a presentation.
const MaxPresentationLife = mandate.DefaultMaxPresentationAge

// Errors of presentations.
var (
	// ErrTokenNeeded reports that the mandate's id alone does not suffice: only the
	// merchant that created the mandate may present it by id.
	ErrTokenNeeded = errors.New("payment: the mandate's token is needed, not its id")
	// ErrNoRail reports that no rail of this service can pay the payee.
	ErrNoRail = errors.New("payment: no rail pays this payee")
)

// PresentationError reports a presentation that does not fit its use.
type PresentationError struct {
	// Problem describes the mismatch for a person.
	Problem string
}

// errBound reports a presentation in place of the mandate itself. Accepting it would let
// a recipient of the presentation do what the holder did not agree to.
var errBound = &PresentationError{Problem: "This is a presentation: it is good only for the payment that it was made for, at /v1/paywall/settle."}

func (e *PresentationError) Error() string { return "payment: " + e.Problem }

// PresentationRequest asks to bind a mandate to one payment. The caller has validated it.
type PresentationRequest struct {
	Merchant  ledger.Merchant // the caller
	IDOrToken string
	// Audience is the origin of the resource, Nonce the id of its challenge.
	Audience string
	Nonce    string
	Amount   ledger.Micros
	PayTo    string
	Network  string
	Resource string
	// Life is the validity of the presentation.
	Life      time.Duration
	RequestID string
}

// Presentation is a mandate bound to one payment.
type Presentation struct {
	Token     mandate.Token
	ExpiresAt time.Time
}

// Present binds a mandate to one payment with the mandate's own key, which stays in the
// vault except for this signature. The mandate inside the presentation is valid only with
// this binding. The monthly limit and the status are checked when it is settled.
//
// It returns a [*ledger.Refusal], [ErrTokenNeeded], a [*PresentationError],
// mandate.ErrMalformed, mandate.ErrInvalid, or ledger.ErrNotFound.
func (s *Service) Present(ctx context.Context, r PresentationRequest) (Presentation, error) {
	m, err := s.Mandate(ctx, r.Merchant.ID, r.IDOrToken)
	if err != nil {
		return Presentation{}, err
	}
	if id.Valid(id.Mandate, r.IDOrToken) && m.MerchantID != r.Merchant.ID {
		return Presentation{}, ErrTokenNeeded
	}
	now := s.Clock().Truncate(time.Second)
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

// refusePresenting returns early the refusal that a settlement would meet. It reads no
// spending.
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
	case !m.PausedAt.IsZero():
		return &ledger.Refusal{Code: ledger.MandateIsPaused}, nil
	case !allowed:
		return &ledger.Refusal{Code: ledger.MerchantNotAllowed}, nil
	case r.Amount > m.Terms.MaxPerTx:
		return &ledger.Refusal{Code: ledger.PerTxLimit, Limit: m.Terms.MaxPerTx}, nil
	}
	return nil, nil
}

// signPresentation issues a token of the mandate for this presentation, and signs the binding.
func (s *Service) signPresentation(ctx context.Context, r PresentationRequest, m ledger.Mandate, now time.Time) (Presentation, error) {
	key, err := s.sessionKey(ctx, m.ID)
	if errors.Is(err, ledger.ErrNotFound) { // destroyed concurrently
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

// sessionKey opens the mandate's own key. It returns ledger.ErrNotFound if the key was
// destroyed.
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

// bindingProblem describes a violated rule of the key binding. It returns an empty string
// for other rules.
func bindingProblem(reason mandate.Reason) string {
	switch reason {
	case mandate.KBMissing:
		return "This mandate was cut out of a presentation, which is valid only as a whole."
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
