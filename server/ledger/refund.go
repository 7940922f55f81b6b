package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// RefundStatus is the state of a refund.
type RefundStatus string

// The states of a refund. Only pending ones change.
const (
	RefundPending   RefundStatus = "pending"
	RefundSucceeded RefundStatus = "succeeded"
	RefundFailed    RefundStatus = "failed"
)

// Refund gives back a part of a charge to its payer, or all of it.
type Refund struct {
	// ID identifies the refund. It is derived from the merchant and its idempotency key.
	ID string
	// ChargeID identifies the charge.
	ChargeID string
	// MandateID identifies the charge's mandate.
	MandateID string
	// MerchantID identifies the payee that gives back.
	MerchantID string
	// N numbers the refunds of the charge, from 1.
	N int
	// Amount is the amount to give back.
	Amount Micros
	// Reason is shown to the person; may be empty.
	Reason string
	// Fingerprint is a hash of the request: the same key with another fingerprint is refused.
	Fingerprint string
	// Status is the refund's state. It changes only while pending.
	Status RefundStatus
	// Rail is the rail that gives back, which is that of the charge. It is empty if no rail moves
	// anything: the charge was a draw that no card had paid.
	Rail rail.Name
	// TxHash is the transaction on the chain.
	TxHash string
	// ProcessorID is the card processor's id of the refund.
	ProcessorID string
	// FailureReason is the reason of a failed refund.
	FailureReason rail.Reason
	// LeaseOwner names the lease under which the rail is being asked; empty if none is.
	LeaseOwner string
	// LeaseUntil is the time before which no other process asks the rail.
	LeaseUntil time.Time
	// Asked is the number of times that recovery has asked the rail.
	Asked int
	// CreatedAt is the time of the request.
	CreatedAt time.Time
	// SettledAt is the time at which the money moved; zero unless the refund has succeeded.
	SettledAt time.Time
}

var (
	// ErrNotRefundable reports a charge that has not succeeded, or was reversed by its rail.
	ErrNotRefundable = errors.New("ledger: charge cannot be refunded")
	// ErrAboveCharge reports refunds of more than was charged.
	ErrAboveCharge = errors.New("ledger: amount above what is left of the charge")
	// ErrTooManyRefunds reports a charge that has [MaxRefunds].
	ErrTooManyRefunds = errors.New("ledger: the charge has the most refunds that it can have")
)

// MaxRefunds limits the refunds of one charge. Failed ones count.
const MaxRefunds = 100

// GivenBack reports whether all of a charge that was paid is refunded, or about to be, or
// whether a draw has left its tab. Such a charge proves no payment any more.
func (c Charge) GivenBack() bool {
	return c.Paid() && c.Refunded+c.Refunding == c.Amount || c.leftTab()
}

// RefundID returns the id of the refund that a merchant requests with an idempotency key.
func RefundID(merchantID, key string) string { return id.Derived(id.Refund, merchantID, key) }

// RefundRequest asks to give back a part of a charge.
type RefundRequest struct {
	// Charge is the charge, as it was read before: its ids do not change.
	Charge Charge
	// PaidBy is the tab that captured a draw that was written off; see [Reader.PaidBy]. Empty:
	// none has.
	PaidBy string
	// MerchantID is the payee that asks.
	MerchantID string
	// Amount is the amount to give back. Zero: what is left of the charge.
	Amount Micros
	// Reason is shown to the person. Optional.
	Reason string
	// IdempotencyKey identifies the request.
	IdempotencyKey string
	// Fingerprint is a hash of the request.
	Fingerprint string
	// Lease is the time during which no other process finishes the refund.
	Lease time.Duration
}

func refundKeys(refundID string, c Charge) Keys {
	keys := Keys{
		Refunds: []string{refundID}, Charges: []string{c.ID}, Mandates: []string{c.MandateID},
		Tallies:     []TallyKey{{MandateID: c.MandateID, MerchantID: c.MerchantID}},
		Idempotency: []IdempotencyKey{reversalKey(c)},
	}
	if c.TabID != "" {
		keys.Tabs = keys.Tallies
	}
	return keys
}

// Refund begins a refund: if it is pending, the caller must ask the charge's rail next. What no
// card has paid is given back at once; see [Draw]. It returns the result of the first request
// with the same key with replayed set, [ErrIdempotencyMismatch], [ErrIdempotencyInProgress],
// [ErrNotFound], [ErrNotRefundable], a [*DrawError], [ErrAboveCharge] or [ErrTooManyRefunds].
// Refunds that run at the same time never give back more than was charged.
func (l *Ledger) Refund(ctx context.Context, q RefundRequest) (_ Refund, replayed bool, _ error) {
	var (
		result Refund
		before bool
	)
	refundID, lease := RefundID(q.MerchantID, q.IdempotencyKey), l.newLease()
	err := l.run(ctx, q.Charge.MandateID, refundKeys(refundID, q.Charge), func(s *State, now time.Time) (e Effects, err error) {
		if known, ok := s.Refunds[refundID]; ok {
			result = known
			before, err = known.replay(q, lease, now)
			return Effects{}, err
		}
		e, result, err = q.decide(s, refundID, lease, now)
		return e, err
	})
	if err != nil {
		return Refund{}, false, fmt.Errorf("refund charge %s: %w", q.Charge.ID, err)
	}
	return result, before, nil
}

func (r Refund) replay(q RefundRequest, lease string, now time.Time) (bool, error) {
	switch {
	case r.Fingerprint != q.Fingerprint:
		return false, ErrIdempotencyMismatch
	case r.LeaseOwner == lease: // this very command: it was committed, and its result was lost
		return false, nil
	case r.Status == RefundPending && now.Before(r.LeaseUntil) && r.Asked == 0:
		return false, ErrIdempotencyInProgress
	}
	return true, nil
}

func (q RefundRequest) decide(s *State, refundID, lease string, now time.Time) (Effects, Refund, error) {
	c, ok := s.Charges[q.Charge.ID]
	if !ok || c.MerchantID != q.MerchantID {
		return Effects{}, Refund{}, ErrNotFound
	}
	if !c.Serves() {
		return Effects{}, Refund{}, fmt.Errorf("%w: it is %s", ErrNotRefundable, c.Status)
	}
	if _, reversed := s.Idempotency[reversalKey(c)]; reversed {
		return Effects{}, Refund{}, fmt.Errorf("%w: its rail took the payment back", ErrNotRefundable)
	}
	left := c.Amount - c.Refunded - c.Refunding
	amount := q.Amount
	if amount == 0 {
		amount = left
	}
	if amount <= 0 || amount > left {
		return Effects{}, Refund{}, ErrAboveCharge
	}
	if c.Refunds >= MaxRefunds {
		return Effects{}, Refund{}, ErrTooManyRefunds
	}
	c.Refunds++
	r := Refund{
		ID: refundID, ChargeID: c.ID, MandateID: c.MandateID, MerchantID: c.MerchantID, N: c.Refunds, Amount: amount, Reason: q.Reason,
		Fingerprint: q.Fingerprint, Status: RefundPending, Rail: c.Rail, LeaseOwner: lease, LeaseUntil: now.Add(q.Lease), CreatedAt: now,
	}
	switch {
	case c.Status == ChargeAuthorized:
		return r.leaveTab(s, c, now)
	case c.Status == ChargeWrittenOff && q.PaidBy == "":
		return r.forgive(s, c, now)
	}
	c.Refunding += amount
	return Effects{Insert: Rows{Refunds: []Refund{r}}, Update: Rows{Charges: []Charge{c}}}, r, nil
}

// SettleRefund decides a pending refund by the outcome on its rail: it posts the movement
// and gives the amount back to the windows in which the charge still counts, except the
// month of a charge on the chain, or releases it. A decided refund does not change, and
// is returned; if the outcome contradicts it, SettleRefund returns
// [ErrConflictingOutcome].
func (l *Ledger) SettleRefund(ctx context.Context, r Refund, o rail.Outcome) (Refund, error) {
	var (
		result      Refund
		conflicting bool
	)
	c := Charge{ID: r.ChargeID, MandateID: r.MandateID, MerchantID: r.MerchantID}
	err := l.run(ctx, r.MandateID, refundKeys(r.ID, c), func(s *State, now time.Time) (e Effects, err error) {
		known, ok := s.Refunds[r.ID]
		if !ok {
			return Effects{}, ErrNotFound
		}
		if result = known; known.Status != RefundPending {
			conflicting = (known.Status == RefundSucceeded) != (o.Status == rail.Succeeded)
			return Effects{}, nil
		}
		e, result, err = known.settle(s, o, now)
		return e, err
	})
	switch {
	case err != nil:
		return Refund{}, fmt.Errorf("settle refund %s: %w", r.ID, err)
	case conflicting:
		return result, fmt.Errorf("settle refund %s: %w: it is %s, and %s reports %s", r.ID, ErrConflictingOutcome, result.Status, r.Rail, o.Status)
	}
	return result, nil
}

// owner returns the mandate that counts the events of the refund.
func (r Refund) owner(s *State, c Charge) (Mandate, error) {
	if c.Direct() {
		return transferOwner(r.ID, 0), nil
	}
	return c.owner(s, 0)
}

func (r Refund) settle(s *State, o rail.Outcome, now time.Time) (Effects, Refund, error) {
	c, ok := s.Charges[r.ChargeID]
	if !ok || c.Refunding < r.Amount {
		return Effects{}, Refund{}, fmt.Errorf("%w: charge %s does not wait for refund %s", ErrInvariant, r.ChargeID, r.ID)
	}
	m, err := r.owner(s, c)
	if err != nil {
		return Effects{}, Refund{}, err
	}
	r.LeaseOwner, r.LeaseUntil, r.TxHash, r.ProcessorID = "", time.Time{}, o.TxHash, o.ProcessorID
	c.Refunding -= r.Amount
	switch o.Status {
	case rail.Succeeded:
		return r.succeed(s, c, o.SettledAt, now)
	case rail.Refused:
	default:
		return Effects{}, Refund{}, fmt.Errorf("%w: outcome %q does not decide refund %s", ErrInvariant, o.Status, r.ID)
	}
	r.Status, r.FailureReason = RefundFailed, o.Reason
	if r.FailureReason == "" {
		r.FailureReason = rail.ProcessorError
	}
	var e Effects
	recordEvent(&e, &m, c.MerchantID, webhook.PaymentRefundFailed, refundData(&c, &r), now)
	e.Update.Charges, e.Update.Refunds = []Charge{c}, []Refund{r}
	e.counted(m)
	return e, r, nil
}

// succeed records that the amount was given back at a time.
func (r Refund) succeed(s *State, c Charge, settledAt, now time.Time) (Effects, Refund, error) {
	e, err := giveBack(s, c, func(w Window) (Window, error) { return w.giveBackRefund(c, r.Amount) })
	if err != nil {
		return Effects{}, Refund{}, err
	}
	r.Status, r.SettledAt = RefundSucceeded, now
	if !settledAt.IsZero() {
		r.SettledAt = settledAt
	}
	c.Refunded += r.Amount
	tally := s.Tallies[TallyKey{MandateID: c.MandateID, MerchantID: c.MerchantID}]
	if len(e.Update.Tallies) > 0 {
		tally = e.Update.Tallies[0]
	}
	tally.Refunded += r.Amount
	m := e.Update.Mandates[0]
	if c.Direct() {
		m = transferOwner(r.ID, 0)
	}
	recordEvent(&e, &m, c.MerchantID, webhook.PaymentRefunded, refundData(&c, &r), now)
	e.Insert.Postings = r.postings(now)
	e.Update.Charges = []Charge{c}
	e.counted(m)
	e.Update.Tallies, e.Update.Refunds = []Tally{tally}, []Refund{r}
	return e, r, nil
}

// FirstRefundPosting is the number of the first posting of a charge's refunds; each has two.
const FirstRefundPosting = 10

// postings returns the postings of a refund that succeeded: from the payee to the rail, and
// from the rail to the payer, or to the operator if it had advanced the amount. The fee stays
// as it is.
func (r Refund) postings(now time.Time) []Posting {
	clearing, payer, n := clearingAccount(r.Rail), mandateAccount(r.MandateID), FirstRefundPosting+2*(r.N-1)
	if r.Rail == "" {
		clearing, payer = clearingAccount(rail.Card), operatorAccount
	}
	return []Posting{
		{ChargeID: r.ChargeID, N: n, MandateID: r.MandateID, From: merchantAccount(r.MerchantID), To: clearing, Amount: r.Amount, At: now},
		{ChargeID: r.ChargeID, N: n + 1, MandateID: r.MandateID, From: clearing, To: payer, Amount: r.Amount, At: now},
	}
}
