package payment

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// A checkout is one payment that a person makes on a page. It is kept as a setup
// session for exactly its amount: paid by card, the session becomes a mandate that
// allows this one payment, is charged at once, and is revoked; paid by a mandate
// that the person has, that one is charged. Either way the charge has the
// checkout's id as its idempotency key, so that there is one.

// CheckoutStatus is the state of a checkout.
type CheckoutStatus string

// The states. Only open and pending ones change.
const (
	CheckoutOpen    CheckoutStatus = "open"
	CheckoutPending CheckoutStatus = "pending" // the rail does not know yet
	CheckoutPaid    CheckoutStatus = "paid"
	CheckoutFailed  CheckoutStatus = "failed"
	CheckoutExpired CheckoutStatus = "expired"
)

// checkoutMandateLife is how long the mandate of a checkout is good at most.
const checkoutMandateLife = SessionLifetime + time.Hour

// What a checkout's session keeps in its metadata.
const (
	descriptionKey = "description"
	checkoutKey    = "checkout" // its id
)

// NewCheckout is what a merchant asks for; checked by the caller.
type NewCheckout struct {
	Merchant    ledger.Merchant
	Amount      ledger.Micros
	Description string
	ReturnURL   string
	// IdempotencyKey makes a repeated request the same checkout.
	IdempotencyKey string
}

// Checkout is a checkout as it is now.
type Checkout struct {
	ID          string
	MerchantID  string
	Status      CheckoutStatus
	Amount      ledger.Micros
	Description string
	ReturnURL   string
	CreatedAt   time.Time
	ExpiresAt   time.Time
	// Charge is set once there is one.
	Charge ledger.Charge
	// FailureReason says why a failed one did.
	FailureReason string

	session Session
}

// CheckoutURL is the page where it is paid: only who was given the address finds it.
func (s *Service) CheckoutURL(checkoutID string) string {
	return s.BaseURL + "/checkout/" + checkoutID + "/" + s.checkoutProof(checkoutID)
}

func (s *Service) checkoutProof(checkoutID string) string {
	return base64.RawURLEncoding.EncodeToString(s.checkoutMAC("page", checkoutID)[:16])
}

// checkoutMAC derives what belongs to a checkout, so that nothing needs to be looked up.
func (s *Service) checkoutMAC(purpose, of string) []byte {
	mac := hmac.New(sha256.New, s.ReceiptKey)
	mac.Write([]byte("checkout " + purpose + " " + of))
	return mac.Sum(nil)
}

// entropyBytes of an id come from who asked, and with which key.
const entropyBytes = 10

// checkoutSession is the token of a checkout's session, by the part of its id that
// its merchant and key decide. Nobody outside of the service ever has it.
func (s *Service) checkoutSession(entropy []byte) string {
	return id.Session + base64.RawURLEncoding.EncodeToString(s.checkoutMAC("session", string(entropy)))
}

func newCheckoutID(at time.Time, entropy []byte) string {
	var u ulid.ULID
	_ = u.SetTime(ulid.Timestamp(at)) // fails after the year 10889
	_ = u.SetEntropy(entropy)         // fails for another length
	return id.Checkout + u.String()
}

// CreateCheckout makes a checkout, or finds the one that an earlier request with
// the same key made. It returns ledger.ErrIdempotencyMismatch where that asked for
// something else.
func (s *Service) CreateCheckout(ctx context.Context, n NewCheckout) (c Checkout, replayed bool, err error) {
	entropy := s.checkoutMAC("id", n.Merchant.ID+" "+n.IdempotencyKey)[:entropyBytes]
	token := s.checkoutSession(entropy)
	session, err := s.Session(ctx, token)
	replayed = err == nil
	if errors.Is(err, ledger.ErrNotFound) {
		if err = s.Ledger.CreateSession(ctx, s.newCheckoutSession(n, token, entropy)); err == nil {
			session, err = s.Session(ctx, token) // of two at once, the first one's
		}
	}
	if err != nil {
		return Checkout{}, false, err
	}
	if session.Terms.MaxPerTx != n.Amount || session.ReturnURL != n.ReturnURL || session.Metadata[descriptionKey] != n.Description {
		return Checkout{}, false, ledger.ErrIdempotencyMismatch
	}
	c, err = s.checkoutOf(ctx, session)
	return c, replayed, err
}

func (s *Service) newCheckoutSession(n NewCheckout, token string, entropy []byte) ledger.Session {
	now := s.Clock.Now()
	return ledger.Session{
		Hash: id.Hash(token), MerchantID: n.Merchant.ID, Status: ledger.SessionPending, ReturnURL: n.ReturnURL,
		Terms: ledger.Terms{
			MaxPerTx: n.Amount, MaxMonthly: n.Amount, Rails: []rail.Name{rail.Fiat}, Payees: []string{n.Merchant.ID},
			ExpiresAt: now.Add(checkoutMandateLife).Truncate(time.Second),
		},
		Metadata:  map[string]string{descriptionKey: n.Description, checkoutKey: newCheckoutID(now, entropy)},
		CreatedAt: now, ExpiresAt: now.Add(SessionLifetime),
	}
}

// Checkout finds a checkout by its id, as it is now; what a payment left half done
// is finished first. It returns ledger.ErrNotFound where there is none, and once
// its payment is not remembered any more.
func (s *Service) Checkout(ctx context.Context, checkoutID string) (Checkout, error) {
	text, _ := strings.CutPrefix(checkoutID, id.Checkout)
	u, err := ulid.ParseStrict(text)
	if err != nil || !id.Valid(id.Checkout, checkoutID) {
		return Checkout{}, ledger.ErrNotFound
	}
	session, err := s.Session(ctx, s.checkoutSession(u.Entropy()))
	if err != nil {
		return Checkout{}, err
	}
	c, err := s.checkoutOf(ctx, session)
	if err == nil && (c.ID != checkoutID || s.Clock.Now().Sub(c.CreatedAt) > ledger.Keep) {
		return Checkout{}, ledger.ErrNotFound
	}
	return c, err
}

// CheckoutAt finds the checkout of a page's address.
func (s *Service) CheckoutAt(ctx context.Context, checkoutID, proof string) (Checkout, error) {
	if !hmac.Equal([]byte(proof), []byte(s.checkoutProof(checkoutID))) {
		return Checkout{}, ledger.ErrNotFound
	}
	return s.Checkout(ctx, checkoutID)
}

// checkoutOf tells how a checkout stands.
func (s *Service) checkoutOf(ctx context.Context, session Session) (Checkout, error) {
	c := Checkout{
		ID: session.Metadata[checkoutKey], MerchantID: session.MerchantID, Status: CheckoutOpen, Amount: session.Terms.MaxPerTx,
		Description: session.Metadata[descriptionKey], ReturnURL: session.ReturnURL, CreatedAt: session.CreatedAt, ExpiresAt: session.ExpiresAt,
		session: session,
	}
	charge, err := s.Ledger.Charged(ctx, ledger.IdempotencyKey{MerchantID: session.MerchantID, Kind: ledger.CheckoutKey, Key: c.ID})
	var refusal *ledger.Refusal
	switch {
	case errors.As(err, &refusal):
		c.Status, c.FailureReason = CheckoutFailed, string(refusal.Code)
		return c, nil
	case err == nil:
		c.take(charge)
		s.endCheckoutMandate(ctx, c)
		return c, nil
	case !errors.Is(err, ledger.ErrNotFound):
		return Checkout{}, err
	}
	switch session.Status {
	case ledger.SessionCompleted: // a payment that was broken off
		return s.chargeCheckout(ctx, c, ChargeRequest{mandateID: session.MandateID})
	case ledger.SessionFailed:
		c.Status, c.FailureReason = CheckoutFailed, session.FailureReason
		if session.FailureReason == ledger.SessionExpired {
			c.Status, c.FailureReason = CheckoutExpired, ""
		}
	case ledger.SessionPending:
	}
	return c, nil
}

func (c *Checkout) take(charge ledger.Charge) {
	c.Charge = charge
	switch charge.Status {
	case ledger.ChargeSucceeded:
		c.Status = CheckoutPaid
	case ledger.ChargePending:
		c.Status = CheckoutPending
	case ledger.ChargeFailed:
		c.Status, c.FailureReason = CheckoutFailed, string(charge.FailureReason)
	}
}
