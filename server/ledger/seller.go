package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A purchase from a seller outside of the service is a charge like others, whose payee is the
// seller's wallet. It stays pending until the seller has settled, or no longer can. Its money
// goes through the session account of the mandate, which belongs to the payer:
//
//	mandate → session            what the rail moved for the purchase
//	session → clearing → wallet  what the seller took
//	session → mandate            what was swept back
//
// The balance of a session account is never negative.

// sessionAccount is the account of a mandate's money that lies in its session account.
func sessionAccount(mandateID string) string { return "session:" + mandateID }

// purchasePostings returns the postings of a purchase that has ended, for which funded was
// moved into the session account.
func purchasePostings(c Charge, funded Micros, now time.Time) []Posting {
	session, clearing := sessionAccount(c.MandateID), clearingAccount(c.Rail)
	var p []Posting
	if funded > 0 {
		p = append(p, Posting{From: mandateAccount(c.MandateID), To: session, Amount: funded})
	}
	if c.Status == ChargeSucceeded {
		p = append(p,
			Posting{From: session, To: clearing, Amount: c.Amount},
			Posting{From: clearing, To: merchantAccount(c.MerchantID), Amount: c.Amount})
	}
	for i := range p {
		p[i].ChargeID, p[i].N, p[i].MandateID, p[i].At = c.ID, i, c.MandateID, now
	}
	return p
}

// FundedBy returns what was moved into the session account for a purchase, according to its
// postings.
func FundedBy(p []Posting) Micros {
	if len(p) > 0 && p[0].To == sessionAccount(p[0].MandateID) {
		return p[0].Amount
	}
	return 0
}

// postPurchase replaces the postings of a charge that was decided, if it is a purchase.
func (e *Effects) postPurchase(c Charge, end Settlement, now time.Time) error {
	switch {
	case c.Source == SourceSeller && end.Funded >= 0 && end.Funded <= c.Amount:
		e.Insert.Postings = purchasePostings(c, end.Funded, now)
		return nil
	case end.Funded == 0:
		return nil
	}
	return fmt.Errorf("%w: %d micros were moved into the session account for charge %s of %d", ErrInvariant, end.Funded, c.ID, c.Amount)
}

// Swept is money that went back from a session account to the payer's wallet.
type Swept struct {
	// ID identifies the sweep.
	ID string
	// MandateID is the mandate of the session account.
	MandateID string
	// Amount is what went back. Above zero.
	Amount Micros
}

func (s Swept) posting(now time.Time) Posting {
	return Posting{
		ChargeID: s.ID, MandateID: s.MandateID, From: sessionAccount(s.MandateID), To: mandateAccount(s.MandateID), Amount: s.Amount, At: now,
	}
}

// Swept records a sweep, once. It changes no window: what was released is in them already.
func (l *Ledger) Swept(ctx context.Context, sweep Swept) error {
	if sweep.ID == "" || sweep.MandateID == "" || sweep.Amount <= 0 {
		return fmt.Errorf("record sweep %s: %w: id, mandate and amount are required", sweep.ID, ErrInvariant)
	}
	key := IdempotencyKey{MerchantID: sweep.MandateID, Kind: SweepKey, Key: sweep.ID}
	keys := Keys{Mandates: []string{sweep.MandateID}, Idempotency: []IdempotencyKey{key}}
	err := l.run(ctx, sweep.MandateID, keys, func(s *State, now time.Time) (Effects, error) {
		if _, done := s.Idempotency[key]; done {
			return Effects{}, nil
		}
		if _, ok := s.Mandates[sweep.MandateID]; !ok {
			return Effects{}, ErrNotFound
		}
		return Effects{Insert: Rows{
			Postings:    []Posting{sweep.posting(now)},
			Idempotency: []Idempotency{{IdempotencyKey: key, Refusal: &Refusal{}, CreatedAt: now}},
		}}, nil
	})
	if errors.Is(err, ErrConflict) { // the key has expired, and the posting has not
		return nil
	}
	if err != nil {
		return fmt.Errorf("record sweep %s: %w", sweep.ID, err)
	}
	return nil
}
