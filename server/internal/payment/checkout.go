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

// A checkout is one payment that a person makes on a page. It has a row of its own,
// and a setup session for exactly its amount: paid by card, the session becomes a
// mandate that allows this one payment, is charged at once, and is revoked; paid by
// a mandate that the person has, that one is charged. Either way the ledger gives the
// checkout one charge, in the charge's own transaction.

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

	entropy string
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

// entropyText is the part of a checkout's id that entropy becomes.
func entropyText(checkoutID string) string { return checkoutID[len(checkoutID)-16:] }

// CreateCheckout makes a checkout, or finds the one that an earlier request with
// the same key made. It returns ledger.ErrIdempotencyMismatch if that asked for
// something else.
func (s *Service) CreateCheckout(ctx context.Context, n NewCheckout) (c Checkout, replayed bool, err error) {
	now := s.Clock.Now()
	entropy := s.checkoutMAC("id", n.Merchant.ID+" "+n.IdempotencyKey)[:entropyBytes]
	fresh := ledger.Checkout{
		ID: newCheckoutID(now, entropy), MerchantID: n.Merchant.ID, Amount: n.Amount, Description: n.Description, ReturnURL: n.ReturnURL,
		SessionHash: id.Hash(s.checkoutSession(entropy)), CreatedAt: now, ExpiresAt: now.Add(SessionLifetime),
	}
	fresh.Entropy = entropyText(fresh.ID)
	made, replayed, err := s.Ledger.CreateCheckout(ctx, fresh, s.newCheckoutSession(fresh))
	if err != nil {
		return Checkout{}, false, err
	}
	if made.MerchantID != n.Merchant.ID || made.Amount != n.Amount || made.ReturnURL != n.ReturnURL || made.Description != n.Description {
		return Checkout{}, false, ledger.ErrIdempotencyMismatch
	}
	c, err = s.checkoutOf(ctx, made)
	return c, replayed, err
}

func (s *Service) newCheckoutSession(c ledger.Checkout) ledger.Session {
	return ledger.Session{
		Hash: c.SessionHash, MerchantID: c.MerchantID, Status: ledger.SessionPending, ReturnURL: c.ReturnURL,
		Terms: ledger.Terms{
			MaxPerTx: c.Amount, MaxMonthly: c.Amount, Rails: []rail.Name{rail.Fiat}, Payees: []string{c.MerchantID},
			ExpiresAt: c.CreatedAt.Add(checkoutMandateLife).Truncate(time.Second),
		},
		CreatedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt,
	}
}

// Checkout finds a checkout by its id, as it is now; what a payment left half done
// is finished first. It returns ledger.ErrNotFound if there is none.
func (s *Service) Checkout(ctx context.Context, checkoutID string) (Checkout, error) {
	text, _ := strings.CutPrefix(checkoutID, id.Checkout)
	u, err := ulid.ParseStrict(text)
	if err != nil || !id.Valid(id.Checkout, checkoutID) {
		return Checkout{}, ledger.ErrNotFound
	}
	row, err := s.Ledger.Checkout(ctx, entropyText(checkoutID))
	if err != nil {
		return Checkout{}, err
	}
	if row.ID != checkoutID || row.SessionHash != id.Hash(s.checkoutSession(u.Entropy())) {
		return Checkout{}, ledger.ErrNotFound
	}
	return s.checkoutOf(ctx, row)
}

// CheckoutAt finds the checkout of a page's address.
func (s *Service) CheckoutAt(ctx context.Context, checkoutID, proof string) (Checkout, error) {
	if !hmac.Equal([]byte(proof), []byte(s.checkoutProof(checkoutID))) {
		return Checkout{}, ledger.ErrNotFound
	}
	return s.Checkout(ctx, checkoutID)
}

// checkoutOf returns how a checkout stands. Its charge decides that, for good; until
// there is one, its session does.
func (s *Service) checkoutOf(ctx context.Context, row ledger.Checkout) (Checkout, error) {
	c := Checkout{
		ID: row.ID, MerchantID: row.MerchantID, Status: CheckoutOpen, Amount: row.Amount, Description: row.Description,
		ReturnURL: row.ReturnURL, CreatedAt: row.CreatedAt, ExpiresAt: row.ExpiresAt, entropy: row.Entropy,
	}
	session, err := s.checkoutsSession(ctx, row)
	if err != nil {
		return Checkout{}, err
	}
	c.session = session
	switch {
	case row.ChargeID != "":
		charge, err := s.Ledger.Charge(ctx, row.ChargeID)
		if err != nil {
			return Checkout{}, err
		}
		c.take(charge)
		s.endCheckoutMandate(ctx, c)
		return c, nil
	case row.FailureReason != "":
		c.Status, c.FailureReason = CheckoutFailed, row.FailureReason
		s.endCheckoutMandate(ctx, c)
		return c, nil
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

// checkoutsSession is the session of a checkout with its token, as an expired one once it is
// deleted.
func (s *Service) checkoutsSession(ctx context.Context, row ledger.Checkout) (Session, error) {
	u, err := ulid.ParseStrict(strings.TrimPrefix(row.ID, id.Checkout))
	if err != nil {
		return Session{}, ledger.ErrNotFound
	}
	session, err := s.Session(ctx, s.checkoutSession(u.Entropy()))
	if errors.Is(err, ledger.ErrNotFound) {
		return Session{Session: ledger.Session{Status: ledger.SessionFailed, FailureReason: ledger.SessionExpired}}, nil
	}
	return session, err
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
