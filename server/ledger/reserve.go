package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
)

// Reserve asks to hold an amount under a mandate: the first step of a charge.
type Reserve struct {
	// ChargeID is the id that the charge gets if it is a new one.
	ChargeID string
	// MandateID is the mandate that the token claims. It is trusted only if TokenValid.
	MandateID string
	// TokenValid reports whether the token's signature was verified.
	TokenValid bool
	// Payee is the merchant to be paid, as it was read before.
	Payee Merchant
	// PayTo is the payee's wallet for this charge; empty if it has none.
	PayTo string
	// Amount is the amount to hold. Above zero.
	Amount Micros
	// Currency is "usd" or "usdc".
	Currency string
	// Description is shown to the person.
	Description string
	// Metadata is the merchant's own.
	Metadata map[string]string
	// Named requires that the mandate names the payee; AnyPayee does not suffice.
	Named bool
	// Rails are the rails to ask, in order. Those that the mandate does not allow are skipped.
	Rails []rail.Name
	// Resource is the normalized URL that a paywall's charge pays for; empty for others.
	Resource string
	// Checkout is the entropy of the checkout that the charge pays. If it is set, the
	// idempotency key is not used. Default: none.
	Checkout string
	// Kind is the kind of IdempotencyKey. Default: ChargeKey.
	Kind KeyKind
	// IdempotencyKey identifies the request within Scope and Kind.
	IdempotencyKey string
	// Fingerprint is a hash of the request: the same key with another fingerprint is refused.
	Fingerprint string
	// Scope owns IdempotencyKey. It is set if the payee may appear under several ids.
	// Default: the payee.
	Scope string
	// RequestKey is the request's own key, if IdempotencyKey identifies the payment and not
	// the request. Default: none.
	RequestKey IdempotencyKey
	// RequestID identifies the request in logs and refusals.
	RequestID string
	// Source is the protocol of the charge. Default: [SourceMandate].
	Source Source
	// Lease is the time during which no other process finishes the charge.
	Lease time.Duration
	// Hold authorizes the amount for this time instead of charging it; see [Capture]. At
	// most [MaxHold]. Default: a charge in one step.
	Hold time.Duration
	// Draw makes the reservation a draw from a tab if none of Rails is allowed, but the card
	// is. Default: such a charge is refused by its rails.
	Draw *Draw

	lease        string // the lease's owner
	withTally    bool   // the payee's tally is loaded
	withAdvances bool   // and its advances are read
	advances     Micros
}

// Reservation is the result of a Reserve.
type Reservation struct {
	// Charge is the new charge, or the charge of an earlier request with the same key.
	Charge Charge
	// Mandate is the mandate of a new charge.
	Mandate Mandate
	// Replayed reports that an earlier request made the charge.
	Replayed bool
	// Tab is the tab of a draw. While it is opening there is no charge yet: ask its rail for
	// the block if OpenTab is set, else wait for the one who does, and then repeat the
	// reservation.
	Tab Tab
	// OpenTab reports that the caller must ask for the block of Tab.
	OpenTab bool
}

func (r Reserve) keys() Keys {
	keys := Keys{Mandates: []string{r.MandateID}, Idempotency: r.idempotencyKeys()}
	if r.withTally {
		keys.Tallies = []TallyKey{r.tallyKey()}
	}
	if r.Draw != nil {
		keys.Tabs = []TallyKey{r.tallyKey()}
	}
	if r.Checkout != "" {
		keys.Checkouts, keys.Charges = []string{r.Checkout}, []string{r.ChargeID}
	}
	return keys
}

func (r Reserve) tallyKey() TallyKey { return TallyKey{MandateID: r.MandateID, MerchantID: r.Payee.ID} }

// idempotencyKeys returns the keys of the request, its own first. The charge of a checkout
// needs none: the checkout has the id of its charge.
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

// decide returns a reservation, a refusal, or an error. A refusal by the rules of the
// mandate is stored under the keys; other refusals and errors are not.
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
		if c, made := s.Charges[paid.ChargeID]; made { // this very command: it was committed, and its result was lost
			return Effects{}, Reservation{Charge: c, Mandate: s.Mandates[c.MandateID]}, nil, nil
		}
	}
	if refusal := r.merchantRules(); refusal != nil {
		return Effects{}, Reservation{}, refusal, nil
	}
	m, known := s.Mandates[r.MandateID]
	if m.Terms.MaxMonthlyPerPayee > 0 && !r.withTally {
		return Effects{}, Reservation{}, nil, errTallyNeeded
	}
	tally, tallied := s.Tallies[r.tallyKey()]
	if refusal := r.mandateRules(m, known, tally, now); refusal != nil {
		refusal.RequestID = r.RequestID
		e := r.refused(refusal, now)
		if paid.FailureReason = string(refusal.Code); r.Checkout != "" && !refusal.renews() {
			e.Update.Checkouts = []Checkout{paid}
		}
		return e, Reservation{}, refusal, nil
	}
	if r.draws(m) {
		e, reservation, refusal, err := r.draw(s, m, tally, tallied, now)
		if refusal != nil && refusal.renews() {
			e = r.refused(refusal, now)
		}
		return e, reservation, refusal, err
	}
	e, reservation, err := r.hold(m, paid, now)
	if err == nil && r.withTally {
		err = r.holdForPayee(&e, m, tally, tallied)
	}
	return e, reservation, nil, err
}

// errTallyNeeded reports that the mandate limits what one payee receives, so that the
// payee's tally has to be loaded too. Other mandates are spared that.
var errTallyNeeded = errors.New("ledger: tally of the payee is needed")

// holdForPayee adds the amount to the payee's window, if the mandate has such a limit.
func (r Reserve) holdForPayee(e *Effects, m Mandate, tally Tally, tallied bool) error {
	if m.Terms.MaxMonthlyPerPayee == 0 {
		return nil
	}
	w, err := tally.window(m.Terms).At(e.Insert.Charges[0].Day).hold(r.Amount)
	if err != nil {
		return err
	}
	tally = tally.with(w)
	if tally.TallyKey = r.tallyKey(); tallied {
		e.Update.Tallies = []Tally{tally}
	} else {
		e.Insert.Tallies = []Tally{tally}
	}
	return nil
}

// hold adds the amount to the mandate's windows and creates the pending charge.
func (r Reserve) hold(m Mandate, paid Checkout, now time.Time) (Effects, Reservation, error) {
	day := m.CountingDay(now)
	var err error
	m.Windows, err = m.changed(func(w Window) (Window, error) { return w.At(day).hold(r.Amount) })
	if err != nil {
		return Effects{}, Reservation{}, err
	}
	c := Charge{
		ID: r.ChargeID, MandateID: m.ID, Source: cmp.Or(r.Source, SourceMandate), MerchantID: r.Payee.ID, PayTo: r.PayTo, Amount: r.Amount,
		Currency: r.Currency, Description: r.Description, Metadata: r.Metadata, Rails: m.rails(r.Rails), Card: m.Card,
		Resource: r.Resource, Attempt: 1, Day: day, Status: ChargePending, LeaseOwner: r.lease, LeaseUntil: now.Add(r.Lease), CreatedAt: now,
	}
	if r.Hold > 0 {
		c = c.hold(m, now.Add(r.Hold))
	}
	e := Effects{
		Insert: Rows{Charges: []Charge{c}, Idempotency: r.remember(Idempotency{ChargeID: c.ID, CreatedAt: now})},
		Update: Rows{Mandates: []Mandate{m}},
	}
	if paid.ChargeID = c.ID; r.Checkout != "" {
		e.Update.Checkouts = []Checkout{paid}
	}
	return e, Reservation{Charge: c, Mandate: m}, nil
}

// refused stores a refusal by the rules of the mandate.
func (r Reserve) refused(refusal *Refusal, now time.Time) Effects {
	return Effects{Insert: Rows{Idempotency: r.remember(Idempotency{Refusal: refusal, CreatedAt: now})}}
}

// remember stores the result of the request under each of its keys.
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
	if c.ID == r.ChargeID { // this very command: it was committed, and its result was lost
		return Reservation{Charge: c, Mandate: s.Mandates[c.MandateID]}, nil, nil
	}
	if c.Status == ChargePending && now.Before(c.LeaseUntil) && c.Asked == 0 {
		return Reservation{}, nil, ErrIdempotencyInProgress
	}
	return Reservation{Charge: c, Replayed: true}, nil, nil
}

func (r Reserve) merchantRules() *Refusal {
	limit := r.Payee.ChargeLimit()
	switch {
	case !r.Payee.Active:
		return &Refusal{Code: MerchantInactive, RequestID: r.RequestID}
	case limit > 0 && r.Amount > limit:
		return &Refusal{Code: MerchantLimit, Limit: limit, RequestID: r.RequestID}
	}
	return nil
}

// Precheck returns the refusal that the request would meet under a mandate, or nil. The
// payee's own limit is not known to it. Nothing is decided: the charge itself may come out
// differently.
func (r Reserve) Precheck(m Mandate, now time.Time) *Refusal {
	return r.mandateRules(m, true, Tally{}, now)
}

// mandateRules returns the refusal by the first rule of the mandate that the request
// breaks, in the order of the specification, or nil.
func (r Reserve) mandateRules(m Mandate, known bool, tally Tally, now time.Time) *Refusal {
	switch {
	case !r.TokenValid || !known:
		return &Refusal{Code: MandateInvalid}
	case m.Status == MandateRevoked:
		return &Refusal{Code: MandateIsRevoked}
	case !now.Before(m.Terms.ExpiresAt):
		return &Refusal{Code: MandateExpired}
	case m.paused():
		return &Refusal{Code: MandateIsPaused}
	case !m.Terms.Allows(r.Payee.ID), r.Named && !slices.Contains(m.Terms.Payees, r.Payee.ID):
		return &Refusal{Code: MerchantNotAllowed}
	case r.Amount > m.Terms.MaxPerTx:
		return &Refusal{Code: PerTxLimit, Limit: m.Terms.MaxPerTx}
	}
	return m.windowRules(r.Amount, tally, now)
}

// windowRules returns the refusal by the first window that an amount exceeds, or nil.
func (m Mandate) windowRules(amount Micros, tally Tally, now time.Time) *Refusal {
	day := m.CountingDay(now)
	windows := m.Windows
	if m.Terms.MaxMonthlyPerPayee > 0 {
		windows = append(slices.Clip(windows), tally.window(m.Terms))
	}
	for _, w := range windows {
		if refusal := w.At(day).refuses(amount); refusal != nil {
			return refusal
		}
	}
	return nil
}
