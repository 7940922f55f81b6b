package ledger

import (
	"cmp"
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// Settlement is the outcome of a charge on its rail.
type Settlement struct {
	// Rail is the rail that reports the outcome.
	Rail rail.Name
	// Outcome is Succeeded or Refused, or Held for an authorization.
	Outcome rail.Outcome
	// Step is what the rail was asked for; empty for a charge in one step. An answer about an
	// earlier step than the charge's changes nothing.
	Step ChargeStep
	// Reversed reports that the rail took back a payment that it had reported as
	// succeeded. Outcome is then Refused, with the transaction that was taken back.
	Reversed bool
	// Funded is the amount that was moved into the mandate's session account for a purchase,
	// whether the seller took it or not. Zero for other charges.
	Funded Micros
}

// The accounts that postings move money between.
func mandateAccount(id string) string {
	if IsWallet(id) { // a direct charge
		return id
	}
	return "mandate:" + id
}

func merchantAccount(id string) string {
	if IsWallet(id) {
		return id
	}
	return "merchant:" + id
}
func feesDueAccount(id string) string       { return "merchant:" + id + ":fees_due" }
func clearingAccount(name rail.Name) string { return "rail:" + string(name) + ":clearing" }

// keys returns the rows that settling a charge needs. The charge was read before for
// its mandate and payee, which never change; its status is read again under lock.
func (end Settlement) keys(c Charge) Keys {
	k := Keys{
		Mandates: []string{c.MandateID},
		Charges:  []string{c.ID},
		Tallies:  []TallyKey{{MandateID: c.MandateID, MerchantID: c.MerchantID}},
	}
	if end.Reversed {
		k.Idempotency = []IdempotencyKey{reversalKey(c)}
	}
	return k
}

// reversalKey marks a charge whose reversal has its event.
func reversalKey(c Charge) IdempotencyKey {
	return IdempotencyKey{MerchantID: c.MerchantID, Kind: ReversalKey, Key: c.ID}
}

// conflicts reports whether the settlement contradicts the outcome that decided c: the
// opposite outcome, or a second movement of money.
func (end Settlement) conflicts(c Charge) bool {
	o := end.Outcome
	if o.Status != rail.Succeeded {
		return c.Status == ChargeSucceeded
	}
	return c.Status != ChargeSucceeded || c.Rail != end.Rail || c.TxHash != o.TxHash || c.ProcessorID != o.ProcessorID
}

// conflict records a settlement that contradicts the outcome that decided a charge.
func (end Settlement) conflict(c Charge, now time.Time) Effects {
	o := end.Outcome
	return Effects{Insert: Rows{Conflicts: []OutcomeConflict{{
		ChargeID: c.ID, Rail: end.Rail, Status: o.Status, Reason: o.Reason, TxHash: o.TxHash, ProcessorID: o.ProcessorID, At: now,
	}}}}
}

// decideSettle captures or releases a pending charge. A decided charge does not
// change; conflicting reports whether the settlement contradicts it.
func decideSettle(s *State, chargeID string, end Settlement, now time.Time) (e Effects, c Charge, conflicting bool, err error) {
	c, ok := s.Charges[chargeID]
	if !ok {
		return Effects{}, Charge{}, false, ErrNotFound
	}
	if end.Outcome.Status == rail.Held && (c.Status == ChargeFailed || c.Status == ChargeVoided) {
		return Effects{Insert: Rows{Unwindings: unwindHold(c, now)}}, c, false, nil // it came too late: nothing may stay held
	}
	if end.late(c) {
		return Effects{}, c, false, nil
	}
	if c.Status != ChargePending {
		if !end.conflicts(c) {
			return Effects{}, c, false, nil
		}
		if end.reverses(c) {
			e, err = end.reversal(s, c, now)
			return e, c, true, err
		}
		return end.conflict(c, now), c, true, nil
	}
	e, c, err = decideEnd(s, c, end, now)
	return e, c, false, err
}

// late reports whether the settlement answers the authorization of a charge that has moved on.
func (end Settlement) late(c Charge) bool {
	return end.Step == StepAuthorize && c.Step != "" && (c.Step != StepAuthorize || c.Status == ChargeAuthorized)
}

// reverses reports whether the rail took back the payment that decided c.
func (end Settlement) reverses(c Charge) bool {
	return end.Reversed && c.Status == ChargeSucceeded && c.Rail == end.Rail && c.TxHash == end.Outcome.TxHash
}

// reversal records that a payment was taken back, with its event, once. The charge and
// its postings stay as they are: a person must look.
func (end Settlement) reversal(s *State, c Charge, now time.Time) (Effects, error) {
	key := reversalKey(c)
	if _, done := s.Idempotency[key]; done {
		return Effects{}, nil
	}
	m, err := c.owner(s, 1)
	if err != nil {
		return Effects{}, err
	}
	e := end.conflict(c, now)
	e.Insert.Conflicts[0].Status = Reversed
	e.Insert.Idempotency = []Idempotency{{IdempotencyKey: key, ChargeID: c.ID, CreatedAt: now}}
	data := paymentData(&c)
	data.Status, data.FailureReason = webhook.StatusReversed, string(end.Outcome.Reason)
	recordEvent(&e, &m, c.MerchantID, webhook.PaymentReversed, data, now)
	e.counted(m)
	return e, nil
}

// decideEnd captures or releases a pending charge.
func decideEnd(s *State, c Charge, end Settlement, now time.Time) (Effects, Charge, error) {
	m, err := c.owner(s, 0)
	if err != nil {
		return Effects{}, Charge{}, err
	}
	c.Rail, c.LeaseOwner, c.LeaseUntil = end.Rail, "", time.Time{}
	c.TxHash, c.ProcessorID = end.Outcome.TxHash, end.Outcome.ProcessorID
	var e Effects
	switch status := end.Outcome.Status; {
	case status == rail.Held && c.Step == StepAuthorize:
		return authorized(m, c, now)
	case status == rail.Succeeded && c.Step != StepAuthorize:
		e, c, err = capture(s, m, c, end.Outcome.SettledAt, now)
	case status != rail.Refused:
		return Effects{}, Charge{}, fmt.Errorf("%w: outcome %q does not decide charge %s", ErrInvariant, status, c.ID)
	default:
		e, c, err = release(s, c, cmp.Or(end.Outcome.Reason, rail.ProcessorError), now)
	}
	if err == nil {
		err = e.postPurchase(c, end, now)
	}
	return e, c, err
}

// decideNextRail reports whether a pending charge may ask the n-th of its rails. A rail that
// was allowed before may be asked again, since it may have moved the money; another one
// only while the mandate is active.
func decideNextRail(s *State, chargeID string, n int, now time.Time) (Effects, bool, error) {
	c, ok := s.Charges[chargeID]
	if !ok {
		return Effects{}, false, ErrNotFound
	}
	m, ok := s.Mandates[c.MandateID]
	if !ok {
		return Effects{}, false, fmt.Errorf("%w: mandate of charge %s is missing", ErrInvariant, c.ID)
	}
	switch {
	case n <= c.Attempt:
		return Effects{}, true, nil
	case c.Status != ChargePending, m.Status != MandateActive, m.paused(), !now.Before(m.Terms.ExpiresAt):
		return Effects{}, false, nil
	}
	c.Attempt = n
	return Effects{Update: Rows{Charges: []Charge{c}}}, true, nil
}

func capture(s *State, m Mandate, c Charge, settledAt, now time.Time) (Effects, Charge, error) {
	c.SettledAt = now
	if !settledAt.IsZero() {
		c.SettledAt = settledAt
	}
	return pay(s, m, c, ChargeSucceeded, webhook.PaymentSucceeded, now)
}

// pay decides a charge for which the payee is paid.
func pay(s *State, m Mandate, c Charge, status ChargeStatus, event webhook.Type, now time.Time) (Effects, Charge, error) {
	c.Status, c.Fee = status, c.fee()
	if c.SettledAt.IsZero() {
		c.SettledAt = now
	}
	e := Effects{}
	key := TallyKey{MandateID: c.MandateID, MerchantID: c.MerchantID}
	tally, known := s.Tallies[key]
	volume, err := tally.Volume.Add(c.Amount)
	if err != nil {
		return Effects{}, Charge{}, fmt.Errorf("%w: %w", ErrInvariant, err)
	}
	tally.TallyKey, tally.Count, tally.Volume = key, tally.Count+1, volume
	if known {
		e.Update.Tallies = []Tally{tally}
	} else {
		e.Insert.Tallies = []Tally{tally}
	}
	e.Insert.Postings = postings(c, now)
	recordEvent(&e, &m, c.MerchantID, event, paymentData(&c), now)
	e.Update.Charges = []Charge{c}
	e.counted(m)
	return e, c, nil
}

// postings returns the postings of a captured charge: from the payer to the rail, from the
// rail to the payee, and the fee from the payee to the fees due.
func postings(c Charge, now time.Time) []Posting {
	clearing := clearingAccount(c.Rail)
	p := []Posting{
		{From: mandateAccount(c.MandateID), To: clearing, Amount: c.Amount},
		{From: clearing, To: merchantAccount(c.MerchantID), Amount: c.Amount},
	}
	if c.Fee > 0 {
		p = append(p, Posting{From: merchantAccount(c.MerchantID), To: feesDueAccount(c.MerchantID), Amount: c.Fee})
	}
	for i := range p {
		p[i].ChargeID, p[i].N, p[i].MandateID, p[i].At = c.ID, i, c.MandateID, now
	}
	return p
}

// release fails a charge and gives its amount back to the windows in which it counts.
func release(s *State, c Charge, reason rail.Reason, now time.Time) (Effects, Charge, error) {
	e, err := giveBack(s, c, func(w Window) (Window, error) { return w.giveBack(c.Day, c.Amount) })
	if err != nil {
		return Effects{}, Charge{}, err
	}
	c.Status, c.FailureReason = ChargeFailed, reason
	e.Insert.Unwindings = unwindHold(c, now)
	m := e.Update.Mandates[0]
	recordEvent(&e, &m, c.MerchantID, webhook.PaymentFailed, paymentData(&c), now)
	e.Update.Charges = []Charge{c}
	e.counted(m)
	return e, c, nil
}
