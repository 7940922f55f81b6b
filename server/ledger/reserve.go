package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
)

// Reserve asks to hold an amount under a mandate: the first step of a charge.
type Reserve struct {
	// ChargeID is the id that the charge gets if it is a new one.
	ChargeID string
	// MandateID is what the token says; trusted only where TokenValid.
	MandateID  string
	TokenValid bool
	// Payee is the merchant to be paid, as read before.
	Payee Merchant
	// PayTo is the payee's wallet for this charge; empty where it has none.
	PayTo       string
	Amount      Micros
	Currency    string
	Description string
	Metadata    map[string]string
	// Named refuses a mandate that allows the payee only by allowing anybody.
	Named bool
	// Rails is the order in which to try those rails that the mandate has.
	Rails []rail.Name
	// Resource is what a paywall's charge pays for; empty: not a paywall's.
	Resource string
	// Checkout is the entropy of the checkout that the charge pays. Default: none. The
	// idempotency key is not used then.
	Checkout string
	// IdempotencyKey belongs to the payee and Kind; Fingerprint tells requests apart.
	Kind           KeyKind // default: ChargeKey
	IdempotencyKey string
	Fingerprint    string
	// Scope is whose IdempotencyKey is, where the same thing must not be charged twice
	// for the payee under another id. Default: the payee.
	Scope string
	// RequestKey is a second idempotency key, of the payee, where IdempotencyKey names what may be
	// charged only once and not the request. Zero: there is none.
	RequestKey IdempotencyKey
	RequestID  string
	// Lease is how long nobody else will finish the charge.
	Lease time.Duration

	lease string // its name
}

// Reservation is the charge that a Reserve made, or the one that an earlier
// request with the same key made.
type Reservation struct {
	Charge   Charge
	Mandate  Mandate // of a new charge
	Replayed bool
}

func (r Reserve) keys() Keys {
	keys := Keys{Mandates: []string{r.MandateID}, Idempotency: r.idempotencyKeys()}
	if r.Checkout != "" {
		keys.Checkouts, keys.Charges = []string{r.Checkout}, []string{r.ChargeID}
	}
	return keys
}

// idempotencyKeys are all that the request is known by, the request's own first. The
// charge of a checkout needs none: the checkout itself knows its charge.
func (r Reserve) idempotencyKeys() []IdempotencyKey {
	if r.Checkout != "" {
		return nil
	}
	own := IdempotencyKey{MerchantID: cmp.Or(r.Scope, r.Payee.ID), Kind: cmp.Or(r.Kind, ChargeKey), Key: r.IdempotencyKey}
	if r.RequestKey == (IdempotencyKey{}) {
		return []IdempotencyKey{own}
	}
	return []IdempotencyKey{r.RequestKey, own}
}

// decide answers a reservation, a refusal, or an error after which nothing is
// remembered. A refusal by the rules of the mandate is remembered under the key.
func (r Reserve) decide(s *State, now time.Time) (Effects, Reservation, *Refusal, error) {
	for _, key := range r.idempotencyKeys() {
		if seen, ok := s.Idempotency[key]; ok {
			res, refusal, err := r.replay(s, seen, now)
			return Effects{}, res, refusal, err
		}
	}
	var paid Checkout
	if r.Checkout != "" {
		var err error
		if paid, err = r.checkout(s); err != nil {
			return Effects{}, Reservation{}, nil, err
		}
		if c, made := s.Charges[paid.ChargeID]; made { // this very command, committed before its answer was lost
			return Effects{}, Reservation{Charge: c, Mandate: s.Mandates[c.MandateID]}, nil, nil
		}
	}
	if refusal := r.merchantRules(); refusal != nil {
		return Effects{}, Reservation{}, refusal, nil
	}
	m, known := s.Mandates[r.MandateID]
	if refusal := r.mandateRules(m, known, now); refusal != nil {
		refusal.RequestID = r.RequestID
		e := Effects{Insert: Rows{Idempotency: r.remember(Idempotency{Refusal: refusal, CreatedAt: now})}}
		if paid.FailureReason = string(refusal.Code); r.Checkout != "" {
			e.Update.Checkouts = []Checkout{paid}
		}
		return e, Reservation{}, refusal, nil
	}
	return r.hold(m, paid, now)
}

// hold counts the amount and makes the pending charge, which pays a checkout if
// there is one.
func (r Reserve) hold(m Mandate, paid Checkout, now time.Time) (Effects, Reservation, *Refusal, error) {
	if month := MonthOf(now); month > m.Month {
		m.Month, m.Spent = month, 0
	}
	spent, err := m.Spent.Add(r.Amount)
	if err != nil {
		return Effects{}, Reservation{}, nil, fmt.Errorf("%w: %w", ErrInvariant, err)
	}
	m.Spent = spent
	c := Charge{
		ID: r.ChargeID, MandateID: m.ID, MerchantID: r.Payee.ID, PayTo: r.PayTo, Amount: r.Amount,
		Currency: r.Currency, Description: r.Description, Metadata: r.Metadata, Rails: m.rails(r.Rails),
		Resource: r.Resource, Attempt: 1, Month: m.Month, Status: ChargePending, LeaseOwner: r.lease, LeaseUntil: now.Add(r.Lease), CreatedAt: now,
	}
	e := Effects{
		Insert: Rows{Charges: []Charge{c}, Idempotency: r.remember(Idempotency{ChargeID: c.ID, CreatedAt: now})},
		Update: Rows{Mandates: []Mandate{m}},
	}
	if paid.ChargeID = c.ID; r.Checkout != "" {
		e.Update.Checkouts = []Checkout{paid}
	}
	return e, Reservation{Charge: c, Mandate: m}, nil, nil
}

// remember writes what came of the request under each of its keys.
func (r Reserve) remember(what Idempotency) []Idempotency {
	what.Fingerprint = r.Fingerprint
	var rows []Idempotency
	for _, key := range r.idempotencyKeys() {
		what.IdempotencyKey = key
		rows = append(rows, what)
	}
	return rows
}

func (r Reserve) replay(s *State, seen Idempotency, now time.Time) (Reservation, *Refusal, error) {
	if seen.Fingerprint != r.Fingerprint {
		if seen.IdempotencyKey == r.RequestKey {
			return Reservation{}, nil, ErrRequestKeyMismatch
		}
		return Reservation{}, nil, ErrIdempotencyMismatch
	}
	if seen.Refusal != nil {
		refusal := *seen.Refusal
		refusal.Replayed = true
		return Reservation{}, &refusal, nil
	}
	c, ok := s.Charges[seen.ChargeID]
	if !ok {
		return Reservation{}, nil, fmt.Errorf("%w: charge %s of a key is missing", ErrInvariant, seen.ChargeID)
	}
	if c.ID == r.ChargeID { // this very command, committed before its answer was lost
		return Reservation{Charge: c, Mandate: s.Mandates[c.MandateID]}, nil, nil
	}
	if c.Status == ChargePending && now.Before(c.LeaseUntil) && c.Asked == 0 {
		return Reservation{}, nil, ErrIdempotencyInProgress
	}
	return Reservation{Charge: c, Replayed: true}, nil, nil
}

func (r Reserve) merchantRules() *Refusal {
	switch {
	case !r.Payee.Active:
		return &Refusal{Code: MerchantInactive, RequestID: r.RequestID}
	case r.Payee.MaxCharge > 0 && r.Amount > r.Payee.MaxCharge:
		return &Refusal{Code: MerchantLimit, Limit: r.Payee.MaxCharge, RequestID: r.RequestID}
	}
	return nil
}

// mandateRules are the atomic five, in order; the counter is the caller's part.
func (r Reserve) mandateRules(m Mandate, known bool, now time.Time) *Refusal {
	switch {
	case !r.TokenValid || !known:
		return &Refusal{Code: MandateInvalid}
	case m.Status == MandateRevoked:
		return &Refusal{Code: MandateIsRevoked}
	case !now.Before(m.Terms.ExpiresAt):
		return &Refusal{Code: MandateExpired}
	case !m.Terms.Allows(r.Payee.ID), r.Named && !slices.Contains(m.Terms.Payees, r.Payee.ID):
		return &Refusal{Code: MerchantNotAllowed}
	case r.Amount > m.Terms.MaxPerTx:
		return &Refusal{Code: PerTxLimit, Limit: m.Terms.MaxPerTx}
	}
	left := m.Terms.MaxMonthly - m.SpentIn(MonthOf(now))
	if r.Amount > left {
		return &Refusal{Code: MonthlyLimit, Limit: m.Terms.MaxMonthly, Remaining: left}
	}
	return nil
}
