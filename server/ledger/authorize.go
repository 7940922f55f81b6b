package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/paywarrant/paywarrant/internal/money"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// An authorized charge is made in two steps: a reservation with [Reserve.Hold] holds the
// most that may be charged, and [Ledger.Capture] later charges what was used, or
// [Ledger.Void] nothing. Between the steps it holds its amount like a pending charge.

// MaxHold is the longest time for which an amount can be held.
const MaxHold = 7 * 24 * time.Hour

// ChargeStep is what a charge that is made in two steps asks its rail for.
type ChargeStep string

// The steps. A plain charge has none.
const (
	StepAuthorize ChargeStep = "authorize"
	StepCapture   ChargeStep = "capture"
)

// Usage describes what a captured amount is for.
type Usage struct {
	// Unit names what was counted: "token".
	Unit string `json:"unit"`
	// Quantity is how many units were used.
	Quantity int64 `json:"quantity"`
	// UnitPrice is the price of one unit.
	UnitPrice Micros `json:"unitPriceMicros"`
}

// ErrNotAuthorized reports a charge that holds nothing that could be captured or voided: it
// was never authorized, or was captured, voided or failed before.
var ErrNotAuthorized = errors.New("ledger: charge is not authorized")

// ErrAboveHold reports a capture of more than was authorized.
var ErrAboveHold = errors.New("ledger: amount above the authorized one")

// ErrNoWholeCents reports a capture of a fraction of a cent, which no card can pay.
var ErrNoWholeCents = errors.New("ledger: a card pays whole cents")

// Capture asks to charge an authorized charge for what was used.
type Capture struct {
	// ChargeID identifies the charge.
	ChargeID string
	// MandateID is the charge's mandate, as it was read before.
	MandateID string
	// MerchantID is the payee that asks. Other merchants' charges are not found.
	MerchantID string
	// Amount is the amount to charge: zero up to the authorized one. The rest is given
	// back. Zero voids the charge.
	Amount Micros
	// Usage describes the amount. Optional.
	Usage *Usage
	// IdempotencyKey identifies the request.
	IdempotencyKey string
	// Fingerprint is a hash of the request: the same key with another fingerprint is refused.
	Fingerprint string
	// RequestID identifies the request in refusals.
	RequestID string
	// Lease is the time during which no other process finishes the capture.
	Lease time.Duration

	lease string // the lease's owner
}

// Captured is the result of a Capture.
type Captured struct {
	// Charge is the charge: pending until its rail has captured it, or voided.
	Charge Charge
	// Replayed reports that an earlier request with the same key captured it.
	Replayed bool
}

func (r Capture) key() IdempotencyKey {
	return IdempotencyKey{MerchantID: r.MerchantID, Kind: CaptureKey, Key: r.IdempotencyKey}
}

// Capture begins to charge an authorized charge: the rest of what it holds is given back,
// and the caller must ask the charge's rail next. It returns the result of the first
// request with the same key, [ErrIdempotencyMismatch], [ErrIdempotencyInProgress],
// [ErrNotFound], [ErrNotAuthorized], [ErrAboveHold], [ErrNoWholeCents], a [*TextError],
// or a [*Refusal] if the hold is the ledger's alone and the mandate has ended; the hold
// is voided then. After any other error it is unknown whether the capture has begun; a
// repeat with the same key returns it.
func (l *Ledger) Capture(ctx context.Context, r Capture) (Captured, error) {
	var (
		result  Captured
		refusal *Refusal
	)
	r.lease = l.newLease()
	if err := r.validate(); err != nil {
		return Captured{}, fmt.Errorf("capture: %w", err)
	}
	keys := holdKeys(r.ChargeID, r.MandateID, r.MerchantID)
	keys.Idempotency = []IdempotencyKey{r.key()}
	err := l.run(ctx, r.MandateID, keys, func(s *State, now time.Time) (e Effects, err error) {
		e, result, refusal, err = r.decide(s, now)
		return e, err
	})
	switch {
	case err != nil:
		return Captured{}, fmt.Errorf("capture charge %s: %w", r.ChargeID, err)
	case refusal != nil:
		return Captured{}, refusal
	}
	return result, nil
}

// Void gives back what an authorized charge holds. A voided charge does not change. Void
// returns [ErrNotFound] if the merchant has no such charge, and [ErrNotAuthorized].
func (l *Ledger) Void(ctx context.Context, c Charge) (Charge, error) {
	var result Charge
	err := l.run(ctx, c.MandateID, holdKeys(c.ID, c.MandateID, c.MerchantID), func(s *State, now time.Time) (e Effects, err error) {
		held, ok := s.Charges[c.ID]
		switch {
		case !ok || held.MerchantID != c.MerchantID:
			return Effects{}, ErrNotFound
		case held.Status == ChargeVoided:
			result = held
			return Effects{}, nil
		case held.Status != ChargeAuthorized || held.TabID != "":
			return Effects{}, fmt.Errorf("%w: it is %s", ErrNotAuthorized, held.Status)
		}
		e, result, err = void(s, held, now)
		return e, err
	})
	if err != nil {
		return Charge{}, fmt.Errorf("void charge %s: %w", c.ID, err)
	}
	return result, nil
}

// holdKeys returns the rows that the end of a hold needs.
func holdKeys(chargeID, mandateID, merchantID string) Keys {
	return Keys{
		Charges: []string{chargeID}, Mandates: []string{mandateID},
		Tallies: []TallyKey{{MandateID: mandateID, MerchantID: merchantID}},
	}
}

func (r Capture) decide(s *State, now time.Time) (Effects, Captured, *Refusal, error) {
	if seen, ok := s.Idempotency[r.key()]; ok {
		result, refusal, err := r.replay(s, seen, now)
		return Effects{}, result, refusal, err
	}
	c, ok := s.Charges[r.ChargeID]
	switch {
	case !ok || c.MerchantID != r.MerchantID:
		return Effects{}, Captured{}, nil, ErrNotFound
	case c.Status == ChargePending:
		return Effects{}, Captured{}, nil, fmt.Errorf("%w: it is %s", ErrIdempotencyInProgress, c.Status)
	case c.TabID != "":
		return Effects{}, Captured{}, nil, fmt.Errorf("%w: its tab is captured as a whole", ErrNotAuthorized)
	case c.Status != ChargeAuthorized:
		return Effects{}, Captured{}, nil, fmt.Errorf("%w: it is %s", ErrNotAuthorized, c.Status)
	case r.Amount < 0 || r.Amount > c.Authorized:
		return Effects{}, Captured{}, nil, ErrAboveHold
	case c.Rail == rail.Card && r.Amount%money.MicrosPerCent != 0:
		return Effects{}, Captured{}, nil, ErrNoWholeCents
	}
	done := Idempotency{IdempotencyKey: r.key(), Fingerprint: r.Fingerprint, CreatedAt: now}
	m := s.Mandates[c.MandateID]
	ended := m.refuseEnded(now)
	if ended == nil && m.paused() {
		ended = &Refusal{Code: MandateIsPaused}
	}
	switch {
	case c.Rail == rail.Card: // the processor holds the amount since before the end
		ended = nil
	case ended != nil:
		ended.RequestID = r.RequestID
		done.Refusal = ended
	}
	if done.Refusal == nil {
		done.ChargeID = c.ID
	}
	var (
		e   Effects
		err error
	)
	c.Usage = r.Usage
	if ended != nil || r.Amount == 0 || !now.Before(c.AuthorizedUntil) {
		e, c, err = void(s, c, now)
	} else {
		e, c, err = r.begin(s, c, now)
	}
	e.Insert.Idempotency = []Idempotency{done}
	return e, Captured{Charge: c}, ended, err
}

// begin gives back the rest of the hold and makes the charge pending.
func (r Capture) begin(s *State, c Charge, now time.Time) (Effects, Charge, error) {
	rest := c.Authorized - r.Amount
	e, err := giveBack(s, c, func(w Window) (Window, error) { return w.giveBackPart(c.Day, rest) })
	if err != nil {
		return Effects{}, Charge{}, err
	}
	c.Status, c.Step, c.Amount, c.Attempt, c.Asked = ChargePending, StepCapture, r.Amount, 1, 0
	c.Rails, c.LeaseOwner, c.LeaseUntil = []rail.Name{c.Rail}, r.lease, now.Add(r.Lease)
	e.Update.Charges = []Charge{c}
	return e, c, nil
}

func (r Capture) replay(s *State, seen Idempotency, now time.Time) (Captured, *Refusal, error) {
	if seen.Fingerprint != r.Fingerprint {
		return Captured{}, nil, ErrIdempotencyMismatch
	}
	if seen.Refusal != nil {
		refusal := *seen.Refusal
		refusal.Replayed = true
		return Captured{}, &refusal, nil
	}
	c, ok := s.Charges[seen.ChargeID]
	switch {
	case !ok:
		return Captured{}, nil, fmt.Errorf("%w: charge %s of a key is missing", ErrInvariant, seen.ChargeID)
	case c.LeaseOwner == r.lease: // this very command: it was committed, and its result was lost
		return Captured{Charge: c}, nil, nil
	case c.Status == ChargePending && now.Before(c.LeaseUntil) && c.Asked == 0:
		return Captured{}, nil, ErrIdempotencyInProgress
	}
	return Captured{Charge: c, Replayed: true}, nil, nil
}

// refuseEnded returns the refusal if the mandate has ended, or nil.
func (m Mandate) refuseEnded(now time.Time) *Refusal {
	switch {
	case m.Status == MandateRevoked:
		return &Refusal{Code: MandateIsRevoked}
	case !now.Before(m.Terms.ExpiresAt):
		return &Refusal{Code: MandateExpired}
	}
	return nil
}

// hold returns the fields of a charge that holds an amount for a time, at most until its
// mandate expires. If the chain may hold it, the hold ends with the month at the latest: the
// contract counts a capture in the month in which it moves, and the ledger in that of the hold.
func (c Charge) hold(m Mandate, until time.Time) Charge {
	c.Step, c.Authorized, c.AuthorizedUntil = StepAuthorize, c.Amount, until
	ends := []time.Time{m.Terms.ExpiresAt}
	if slices.Contains(c.Rails, rail.Chain) {
		ends = append(ends, c.Day.Month().Next().Start())
	}
	for _, end := range ends {
		if end.Before(c.AuthorizedUntil) {
			c.AuthorizedUntil = end
		}
	}
	return c
}

// authorized records that a rail, or the ledger alone, holds the amount of a charge.
func authorized(m Mandate, c Charge, now time.Time) (Effects, Charge, error) {
	c.Status = ChargeAuthorized
	var e Effects
	recordEvent(&e, &m, c.MerchantID, webhook.PaymentAuthorized, paymentData(&c), now)
	e.Update.Charges, e.Update.Mandates = []Charge{c}, []Mandate{m}
	return e, c, nil
}

// void gives back what an authorized charge holds. What a rail holds is voided there later.
func void(s *State, c Charge, now time.Time) (Effects, Charge, error) {
	e, err := giveBack(s, c, func(w Window) (Window, error) { return w.giveBack(c.Day, c.Amount) })
	if err != nil {
		return Effects{}, Charge{}, err
	}
	c.Status = ChargeVoided
	m := e.Update.Mandates[0]
	recordEvent(&e, &m, c.MerchantID, webhook.PaymentVoided, paymentData(&c), now)
	e.Update.Charges, e.Update.Mandates = []Charge{c}, []Mandate{m}
	e.Insert.Unwindings = unwindHold(c, now)
	return e, c, nil
}

// unwindHold returns the unwinding of what a rail may hold of a charge in two steps that has
// ended: also one that was asked, and did not decide. On the chain the hold is the ledger's.
func unwindHold(c Charge, now time.Time) []Unwinding {
	if c.Step == "" || !slices.Contains(c.Rails, rail.Card) {
		return nil
	}
	return []Unwinding{{ID: c.ID, Kind: UnwindHold, Since: now, Due: now}}
}

// giveBack changes the windows in which a charge counts: those of its mandate, and the
// payee's. The mandate is the first of the effects' updates; see [Effects.counted]. A direct
// charge counts in no window.
func giveBack(s *State, c Charge, change func(Window) (Window, error)) (Effects, error) {
	var e Effects
	if c.Direct() {
		e.Update.Mandates = []Mandate{transferOwner(c.ID, 0)}
		return e, nil
	}
	m, ok := s.Mandates[c.MandateID]
	if !ok {
		return Effects{}, fmt.Errorf("%w: mandate of charge %s is missing", ErrInvariant, c.ID)
	}
	windows, err := m.changed(change)
	if err != nil {
		return Effects{}, fmt.Errorf("give back charge %s: %w", c.ID, err)
	}
	if m.Terms.MaxMonthlyPerPayee > 0 {
		tally := s.Tallies[TallyKey{MandateID: m.ID, MerchantID: c.MerchantID}]
		w, err := change(tally.window(m.Terms))
		if err != nil {
			return Effects{}, fmt.Errorf("give back charge %s: %w", c.ID, err)
		}
		e.Update.Tallies = []Tally{tally.with(w)}
	}
	m.Windows = windows
	e.Update.Mandates = []Mandate{m}
	return e, nil
}
