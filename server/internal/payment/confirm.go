package payment

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/mail"
	"slices"
	"strconv"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/vault"
)

// Confirmation is what a person decided on the setup page.
type Confirmation struct {
	// Terms are those of the session, or narrower. Their rails are those of Methods.
	Terms ledger.Terms
	// Methods are the payment methods to connect, in the format of their rails.
	Methods []string
	// Email may be empty.
	Email string
	// Prepare is called before the mandate is stored, with the id that it will have and what
	// pays for it. If the confirmation then fails, no other mandate gets the id. Nil: nothing
	// is prepared.
	Prepare func(ctx context.Context, mandateID string, with []rail.Instrument) error
}

// MethodError reports a payment method that could not be connected.
type MethodError struct {
	Method string
	Reason rail.Reason
	// AttemptsLeft is the number of attempts that the session still allows. At zero, the
	// session has failed.
	AttemptsLeft int
}

func (e *MethodError) Error() string {
	return fmt.Sprintf("payment method %s refused: %s", e.Method, e.Reason)
}

func tokenLabel(mandateID string) vault.Label {
	return vault.Label{Purpose: "mandate-token", Owner: mandateID}
}

func sessionKeyLabel(mandateID string) vault.Label {
	return vault.Label{Purpose: "session-key/p256", Owner: mandateID}
}

func sessionKeyName(mandateID string) string { return "session-key/p256/" + mandateID }

// Confirm turns a session into a mandate: it connects the payment methods, generates
// the mandate's session key, signs the token, and completes the session.
//
// It returns ledger.ErrNotFound, ledger.ErrSessionFinished, ledger.ErrWidened,
// rail.ErrUnknownMethod, [ErrNoEmail], or a [*MethodError].
func (s *Service) Confirm(ctx context.Context, token string, c Confirmation) (ledger.Mandate, error) {
	done, err := s.begin()
	if err != nil {
		return ledger.Mandate{}, err
	}
	defer done()
	session, err := s.Session(ctx, token)
	if err != nil {
		return ledger.Mandate{}, err
	}
	if err := s.confirmable(session, c); err != nil {
		return ledger.Mandate{}, err
	}
	instruments, err := s.connect(ctx, session, c)
	if err != nil {
		return ledger.Mandate{}, err
	}
	terms := c.Terms
	terms.Rails = nil
	completion := ledger.Completion{SessionHash: session.Hash, Email: c.Email}
	for _, i := range instruments {
		terms.Rails = append(terms.Rails, i.Rail)
		completion.Instruments = append(completion.Instruments, i.Reference)
	}
	terms.RoundUpRest = terms.RoundUpRest && slices.Contains(terms.Rails, rail.Card)
	completion.Terms = terms
	mandateID, key, err := s.claim(ctx)
	if err != nil {
		return ledger.Mandate{}, err
	}
	completion.MandateID = mandateID
	if err := c.prepare(ctx, mandateID, instruments); err != nil {
		return ledger.Mandate{}, fmt.Errorf("prepare mandate: %w", err)
	}
	m, err := s.issue(ctx, completion, key)
	if err != nil {
		return ledger.Mandate{}, err
	}
	failpoint.Hit(failpoint.MandateUnbound)
	s.attach(ctx, m, instruments)
	return m, nil
}

// idAttempts is the number of ids tried for a mandate. It suffices as long as at most
// half of the status list is used.
const idAttempts = 32

// claim draws the id of a new mandate and stores its session key. The key claims the id, so
// what is prepared under it is never a stranger's: it stays even if the confirmation fails.
func (s *Service) claim(ctx context.Context) (mandateID string, key mandate.PublicKey, err error) {
	for range idAttempts {
		mandateID = s.Statuses.NewID()
		key, err = s.newSessionKey(ctx, mandateID)
		if errors.Is(err, ledger.ErrConflict) {
			continue
		}
		if err != nil {
			return "", key, err
		}
		_, err = s.Ledger.Mandate(ctx, mandateID)
		if errors.Is(err, ledger.ErrNotFound) {
			return mandateID, key, nil
		}
		if err == nil { // revoked, so its own key was destroyed
			err = s.Accounts.DeleteSealedKey(ctx, sessionKeyName(mandateID))
		}
		if err != nil {
			return "", key, fmt.Errorf("claim %s: %w", mandateID, err)
		}
	}
	return "", key, errors.New("claim id of mandate: no free index in the status list")
}

func (c Confirmation) prepare(ctx context.Context, mandateID string, connected []ledger.Instrument) error {
	if c.Prepare == nil {
		return nil
	}
	with := make([]rail.Instrument, len(connected))
	for i, in := range connected {
		with[i] = in.Instrument
	}
	return c.Prepare(ctx, mandateID, with)
}

// attach binds instruments to their mandate on the rails. A rail that could not be
// reached learns the mandate from the first charge.
func (s *Service) attach(ctx context.Context, m ledger.Mandate, instruments []ledger.Instrument) {
	for _, in := range instruments {
		r, _ := s.Rails.Rail(in.Rail)
		if b, ok := r.(rail.Binder); ok {
			if err := b.Bind(ctx, in.Instrument, m.ID); err != nil {
				s.Logger.WarnContext(ctx, "bind instrument", slog.String("mandateId", m.ID), slog.String("error", err.Error()))
			}
		}
	}
}

func (s *Service) confirmable(session Session, c Confirmation) error {
	switch {
	case session.Status != ledger.SessionPending:
		return ledger.ErrSessionFinished
	case !c.Terms.Narrows(session.Terms):
		return ledger.ErrWidened
	case len(c.Methods) == 0:
		return rail.ErrUnknownMethod
	}
	if c.Email != "" {
		if a, err := mail.ParseAddress(c.Email); err != nil || a.Address != c.Email || len(c.Email) > 254 {
			return ErrNoEmail
		}
	}
	return nil
}

// connect connects each method on the rail that knows it, at most one per rail.
func (s *Service) connect(ctx context.Context, session Session, c Confirmation) ([]ledger.Instrument, error) {
	limits, err := s.limits(ctx, c.Terms)
	if err != nil {
		return nil, err
	}
	var instruments []ledger.Instrument
	used := map[rail.Name]bool{}
	for _, method := range c.Methods {
		instrument, err := s.connectOne(ctx, session, rail.Connection{Method: method, Email: c.Email, Session: session.Hash, Limits: limits}, used)
		var refused *rail.RefusedError
		if errors.As(err, &refused) {
			after, err := s.Ledger.RefuseAttempt(ctx, session.Hash, completed(instruments)...)
			s.wakeUnwinding()
			if err != nil {
				return nil, err
			}
			return nil, &MethodError{Method: method, Reason: refused.Reason, AttemptsLeft: ledger.MaxAttempts - after.Attempts}
		}
		if err != nil {
			return nil, fmt.Errorf("connect %s: %w", method, err)
		}
		used[instrument.Rail] = true
		instruments = append(instruments, instrument)
	}
	return instruments, nil
}

// limits returns the limits that a mandate with these terms gives to rails.
func (s *Service) limits(ctx context.Context, t ledger.Terms) (rail.Limits, error) {
	l := rail.Limits{MaxPerCharge: t.MaxPerTx, MaxPerMonth: t.MaxMonthly, ExpiresAt: t.ExpiresAt}
	for _, merchantID := range t.Payees {
		if merchantID == ledger.AnyPayee {
			l.AnyPayee = true
			return l, nil
		}
		m, err := s.Accounts.Merchant(ctx, merchantID)
		if err != nil {
			return l, fmt.Errorf("read merchant %s: %w", merchantID, err)
		}
		if m.PayTo != "" {
			l.PayTo = append(l.PayTo, m.PayTo)
		}
	}
	return l, nil
}

// completed returns the references of instruments.
func completed(instruments []ledger.Instrument) (references []string) {
	for _, i := range instruments {
		references = append(references, i.Reference)
	}
	return references
}

func (s *Service) connectOne(ctx context.Context, session Session, c rail.Connection, used map[rail.Name]bool) (ledger.Instrument, error) {
	for _, name := range session.Terms.Rails {
		r, ok := s.Rails.Rail(name)
		if !ok || used[name] {
			continue
		}
		// One reference per attempt: a form that is sent twice connects once.
		c.Reference = session.Hash[:32] + "." + strconv.Itoa(session.Attempts) + "." + c.Method
		instrument, err := s.connectOn(ctx, r, c)
		if !errors.Is(err, rail.ErrUnknownMethod) {
			return instrument, err
		}
	}
	return ledger.Instrument{}, rail.ErrUnknownMethod
}

// connectOn connects a method on one rail. The ledger records the instrument before the
// rail is asked, so that it is disconnected again unless the session completes with it.
func (s *Service) connectOn(ctx context.Context, r rail.Rail, c rail.Connection) (ledger.Instrument, error) {
	begun, err := s.Ledger.BeginInstrument(ctx, c, r.Name())
	if err != nil {
		return ledger.Instrument{}, err
	}
	return s.connectBegun(ctx, r, begun, c)
}

// connectBegun connects an instrument that the ledger has recorded.
func (s *Service) connectBegun(ctx context.Context, r rail.Rail, begun ledger.Instrument, c rail.Connection) (ledger.Instrument, error) {
	failpoint.Hit(failpoint.InstrumentBegun)
	connected, err := r.Connect(ctx, c)
	var refused *rail.RefusedError
	if errors.As(err, &refused) || errors.Is(err, rail.ErrUnknownMethod) {
		if _, e := s.Ledger.DisconnectedInstrument(ctx, begun.Reference); e != nil {
			return ledger.Instrument{}, e
		}
	}
	if err != nil {
		return ledger.Instrument{}, err
	}
	instrument, err := s.Ledger.ConnectedInstrument(ctx, begun.Reference, connected)
	if err == nil && instrument.State != ledger.Connected {
		err = ledger.ErrSessionFinished
	}
	return instrument, err
}

// issue signs the token and completes the session. It leaves the key if that fails: the
// session may be completed although the answer was lost.
func (s *Service) issue(ctx context.Context, c ledger.Completion, key mandate.PublicKey) (ledger.Mandate, error) {
	terms, err := s.tokenTerms(ctx, c.MandateID, c.Terms, key, s.Clock())
	if err != nil {
		return ledger.Mandate{}, err
	}
	token, err := s.Issuer.Issue(ctx, terms)
	if err != nil {
		return ledger.Mandate{}, err
	}
	if c.SealedToken, err = s.Vault.Seal(ctx, tokenLabel(c.MandateID), []byte(token.Reveal())); err != nil {
		return ledger.Mandate{}, err
	}
	return s.Ledger.CompleteSession(ctx, c)
}

// tokenTerms returns the content of a mandate's token.
func (s *Service) tokenTerms(ctx context.Context, mandateID string, t ledger.Terms, key mandate.PublicKey, issued time.Time) (mandate.Terms, error) {
	payees, err := s.payees(ctx, t.Payees)
	if err != nil {
		return mandate.Terms{}, err
	}
	terms := mandate.Terms{
		ID: mandateID, Payees: payees, IssuedAt: issued, ExpiresAt: t.ExpiresAt, SessionKey: key, Status: s.Statuses.Ref(mandateID),
		Limits: mandate.Limits{
			MaxPerTxCents: int64(t.MaxPerTx.CentsDown()), MaxMonthlyCents: int64(t.MaxMonthly.CentsDown()),
			MaxDailyCents: int64(t.MaxDaily.CentsDown()), MaxTotalCents: int64(t.MaxTotal.CentsDown()),
			MaxPaymentsPerDay: t.MaxPaymentsPerDay, MaxMonthlyPerPayeeCents: int64(t.MaxMonthlyPerPayee.CentsDown()), RoundUpRest: t.RoundUpRest,
		},
	}
	for _, name := range t.Rails {
		terms.Rails = append(terms.Rails, mandate.Rail(name))
	}
	return terms, nil
}

// newSessionKey generates the mandate's own key and stores it sealed.
func (s *Service) newSessionKey(ctx context.Context, mandateID string) (mandate.PublicKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return mandate.PublicKey{}, fmt.Errorf("generate session key: %w", err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return mandate.PublicKey{}, fmt.Errorf("encode session key: %w", err)
	}
	defer clear(secret)
	sealed, err := s.Vault.Seal(ctx, sessionKeyLabel(mandateID), secret)
	if err != nil {
		return mandate.PublicKey{}, err
	}
	public, err := mandate.NewPublicKey(&key.PublicKey)
	if err != nil {
		return mandate.PublicKey{}, err
	}
	text, err := public.MarshalJSON()
	if err != nil {
		return mandate.PublicKey{}, err
	}
	now := s.Clock()
	err = s.Accounts.AddSealedKey(ctx, store.SealedKey{
		Name: sessionKeyName(mandateID), State: "active", Public: text, Sealed: sealed, CreatedAt: now, ChangedAt: now,
	})
	if err != nil {
		return mandate.PublicKey{}, fmt.Errorf("store session key of %s: %w", mandateID, err)
	}
	return public, nil
}

// payees returns the allowed merchants as a token names them.
func (s *Service) payees(ctx context.Context, ids []string) ([]mandate.Payee, error) {
	var payees []mandate.Payee
	for _, merchantID := range ids {
		if merchantID == ledger.AnyPayee {
			return []mandate.Payee{mandate.AnyPayee()}, nil
		}
		m, err := s.Accounts.Merchant(ctx, merchantID)
		if err != nil {
			return nil, fmt.Errorf("read merchant %s: %w", merchantID, err)
		}
		payees = append(payees, mandate.Payee{ID: m.ID, Name: m.Name, Website: m.Website})
	}
	return payees, nil
}
