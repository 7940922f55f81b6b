package ledger

import (
	"maps"
	"slices"
)

// purchased checks that a purchase has exactly the postings of its state.
func (r *Report) purchased(c Charge, got []Posting) {
	var want []Posting
	funded := FundedBy(got)
	if c.Status == ChargeSucceeded || c.Status == ChargeFailed {
		want = purchasePostings(c, funded, c.CreatedAt)
	}
	if funded > c.Amount || !slices.EqualFunc(want, got, samePosting) {
		r.fault("purchase %s (%s): postings do not fit", c.ID, c.Status)
	}
	if c.Fee != 0 || c.Refunds != 0 || !IsWallet(c.MerchantID) {
		r.fault("purchase %s: its payee is not a wallet, or it has a fee or a refund", c.ID)
	}
}

// session adds the postings of a purchase to the balance of its session account.
func (k *check) session(mandateID string, p []Posting) {
	account := sessionAccount(mandateID)
	for _, one := range p {
		if one.To == account {
			k.sessions[mandateID] += one.Amount
		}
		if one.From == account {
			k.sessions[mandateID] -= one.Amount
		}
	}
}

// sweep checks the posting of a sweep, and subtracts it from its session account.
func (k *check) sweep(p []Posting) {
	k.Postings += len(p)
	one := p[0]
	want := Swept{ID: one.ChargeID, MandateID: one.MandateID, Amount: one.Amount}.posting(one.At)
	if len(p) != 1 || !samePosting(one, want) {
		k.fault("sweep %s: its posting does not fit", one.ChargeID)
	}
	k.session(one.MandateID, p)
}

// allSessions adds up the session accounts, none of which may be negative.
func (k *check) allSessions() error {
	for _, mandateID := range slices.Sorted(maps.Keys(k.sessions)) {
		balance := k.sessions[mandateID]
		if balance < 0 {
			k.fault("session account of %s: %d micros", mandateID, balance)
		}
		if _, known := k.mandates[mandateID]; !known {
			k.fault("session account of %s: there is no such mandate", mandateID)
		}
		k.InSessions += balance
	}
	return nil
}
