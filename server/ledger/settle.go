package ledger

import (
	"fmt"
	"time"

	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/webhook"
)

// Settlement is how a charge ended on its rail: the second step of a charge.
type Settlement struct {
	Rail    rail.Name
	Outcome rail.Outcome // Succeeded or Refused
}

// The accounts that postings move money between.
func mandateAccount(id string) string { return "mandate:" + id }

func merchantAccount(id string) string {
	if IsWallet(id) {
		return id
	}
	return "merchant:" + id
}
func feesDueAccount(id string) string       { return "merchant:" + id + ":fees_due" }
func clearingAccount(name rail.Name) string { return "rail:" + string(name) + ":clearing" }

// settleKeys names what settling a charge needs. The charge is read before for
// its mandate and payee, which never change; its status is decided under lock.
func settleKeys(c Charge) Keys {
	return Keys{
		Mandates: []string{c.MandateID},
		Charges:  []string{c.ID},
		Tallies:  []TallyKey{{MandateID: c.MandateID, MerchantID: c.MerchantID}},
	}
}

// decideSettle captures or releases a pending charge. A charge that is decided
// already stays as it is, whatever the settlement says.
func decideSettle(s *State, chargeID string, end Settlement, now time.Time) (Effects, Charge, error) {
	c, ok := s.Charges[chargeID]
	if !ok {
		return Effects{}, Charge{}, ErrNotFound
	}
	if c.Status != ChargePending {
		return Effects{}, c, nil
	}
	m, ok := s.Mandates[c.MandateID]
	if !ok {
		return Effects{}, Charge{}, fmt.Errorf("%w: mandate of charge %s is missing", ErrInvariant, c.ID)
	}
	c.Rail, c.LeaseOwner, c.LeaseUntil = end.Rail, "", time.Time{}
	c.TxHash, c.ProcessorID = end.Outcome.TxHash, end.Outcome.ProcessorID
	if end.Outcome.Status == rail.Succeeded {
		return capture(s, m, c, end.Outcome.SettledAt, now)
	}
	return release(m, c, end.Outcome.Reason, now)
}

func capture(s *State, m Mandate, c Charge, settledAt, now time.Time) (Effects, Charge, error) {
	c.Status, c.SettledAt, c.Fee = ChargeSucceeded, now, c.fee()
	if !settledAt.IsZero() {
		c.SettledAt = settledAt
	}
	e := Effects{}
	key := TallyKey{MandateID: m.ID, MerchantID: c.MerchantID}
	tally, known := s.Tallies[key]
	volume, err := tally.Volume.Add(c.Amount)
	if err != nil {
		return Effects{}, Charge{}, fmt.Errorf("%w: %w", ErrInvariant, err)
	}
	tally = Tally{TallyKey: key, Count: tally.Count + 1, Volume: volume}
	if known {
		e.Update.Tallies = []Tally{tally}
	} else {
		e.Insert.Tallies = []Tally{tally}
	}
	e.Insert.Postings = postings(c, now)
	tell(&e, &m, c.MerchantID, webhook.PaymentSucceeded, paymentData(&c), now)
	e.Update.Charges, e.Update.Mandates = []Charge{c}, []Mandate{m}
	return e, c, nil
}

// postings of a captured charge: the payer pays in over the rail, the rail pays
// out to the payee, and the fee is set aside from what the payee has.
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

// release gives the amount back to the counter that it was taken from, where
// that month still counts.
func release(m Mandate, c Charge, reason rail.Reason, now time.Time) (Effects, Charge, error) {
	c.Status, c.FailureReason = ChargeFailed, reason
	if m.Month == c.Month {
		spent, err := m.Spent.Sub(c.Amount)
		if err != nil || spent < 0 {
			return Effects{}, Charge{}, fmt.Errorf("%w: mandate %s has spent less than charge %s holds", ErrInvariant, m.ID, c.ID)
		}
		m.Spent = spent
	}
	var e Effects
	tell(&e, &m, c.MerchantID, webhook.PaymentFailed, paymentData(&c), now)
	e.Update.Charges, e.Update.Mandates = []Charge{c}, []Mandate{m}
	return e, c, nil
}
