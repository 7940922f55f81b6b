package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// command is a decision and the rows that it needs. decide stores its result in a variable
// of its caller. Effects that it returns with an error are not saved.
type command struct {
	keys   Keys
	decide func(*State) (Effects, error)
	err    error
}

// keysOf returns the rows of all commands, each once, in the order of locking.
func keysOf(commands []*command) Keys {
	var all Keys
	for _, c := range commands {
		all.Sessions = append(all.Sessions, c.keys.Sessions...)
		all.Mandates = append(all.Mandates, c.keys.Mandates...)
		all.Charges = append(all.Charges, c.keys.Charges...)
		all.Tallies = append(all.Tallies, c.keys.Tallies...)
		all.Idempotency = append(all.Idempotency, c.keys.Idempotency...)
		all.Checkouts = append(all.Checkouts, c.keys.Checkouts...)
		all.Instruments = append(all.Instruments, c.keys.Instruments...)
		all.Refunds = append(all.Refunds, c.keys.Refunds...)
		all.Tabs = append(all.Tabs, c.keys.Tabs...)
	}
	return Keys{
		Sessions:    inOrder(all.Sessions, cmp.Compare[string]),
		Mandates:    inOrder(all.Mandates, cmp.Compare[string]),
		Charges:     inOrder(all.Charges, cmp.Compare[string]),
		Checkouts:   inOrder(all.Checkouts, cmp.Compare[string]),
		Instruments: inOrder(all.Instruments, cmp.Compare[string]),
		Refunds:     inOrder(all.Refunds, cmp.Compare[string]),
		Tallies:     inOrder(all.Tallies, compareTallyKeys),
		Tabs:        inOrder(all.Tabs, compareTallyKeys),
		Idempotency: inOrder(all.Idempotency, func(a, b IdempotencyKey) int {
			return cmp.Or(cmp.Compare(a.MerchantID, b.MerchantID), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key))
		}),
	}
}

func compareTallyKeys(a, b TallyKey) int {
	return cmp.Or(cmp.Compare(a.MandateID, b.MandateID), cmp.Compare(a.MerchantID, b.MerchantID))
}

func inOrder[K comparable](keys []K, compare func(a, b K) int) []K {
	slices.SortFunc(keys, compare)
	return slices.Compact(keys)
}

// decideAll runs the commands in order on one state, so that each sees the changes of the
// previous ones. It returns the combined effects.
func decideAll(s *State, commands []*command) (Effects, error) {
	var sum Effects
	sessions := newTable(s.Sessions, func(r Session) string { return r.Hash })
	mandates := newTable(s.Mandates, func(r Mandate) string { return r.ID })
	charges := newTable(s.Charges, func(r Charge) string { return r.ID })
	tallies := newTable(s.Tallies, func(r Tally) TallyKey { return r.TallyKey })
	idempotency := newTable(s.Idempotency, func(r Idempotency) IdempotencyKey { return r.IdempotencyKey })
	checkouts := newTable(s.Checkouts, func(r Checkout) string { return r.Entropy })
	instruments := newTable(s.Instruments, func(r Instrument) string { return r.Reference })
	refunds := newTable(s.Refunds, func(r Refund) string { return r.ID })
	tabs := newTable(s.Tabs, func(r Tab) string { return r.ID })
	unwindings := map[string]Unwinding{}
	for _, c := range commands {
		var e Effects
		if e, c.err = c.decide(s); c.err != nil {
			continue
		}
		if err := checkInvariants(e); err != nil {
			return Effects{}, err
		}
		sessions.apply(e.Insert.Sessions, e.Update.Sessions)
		mandates.apply(e.Insert.Mandates, e.Update.Mandates)
		charges.apply(e.Insert.Charges, e.Update.Charges)
		tallies.apply(e.Insert.Tallies, e.Update.Tallies)
		idempotency.apply(e.Insert.Idempotency, nil)
		checkouts.apply(e.Insert.Checkouts, e.Update.Checkouts)
		instruments.apply(e.Insert.Instruments, e.Update.Instruments)
		refunds.apply(e.Insert.Refunds, e.Update.Refunds)
		tabs.apply(e.Insert.Tabs, e.Update.Tabs)
		for _, u := range e.Insert.Unwindings {
			unwindings[u.ID] = u
		}
		sum.Insert.Postings = append(sum.Insert.Postings, e.Insert.Postings...)
		sum.Insert.Events = append(sum.Insert.Events, e.Insert.Events...)
		sum.Insert.Conflicts = append(sum.Insert.Conflicts, e.Insert.Conflicts...)
	}
	sum.Insert.Sessions, sum.Update.Sessions = sessions.changed()
	sum.Insert.Mandates, sum.Update.Mandates = mandates.changed()
	sum.Insert.Charges, sum.Update.Charges = charges.changed()
	sum.Insert.Tallies, sum.Update.Tallies = tallies.changed()
	sum.Insert.Idempotency, _ = idempotency.changed()
	sum.Insert.Checkouts, sum.Update.Checkouts = checkouts.changed()
	sum.Insert.Instruments, sum.Update.Instruments = instruments.changed()
	sum.Insert.Refunds, sum.Update.Refunds = refunds.changed()
	sum.Insert.Tabs, sum.Update.Tabs = tabs.changed()
	for _, id := range slices.Sorted(maps.Keys(unwindings)) {
		sum.Insert.Unwindings = append(sum.Insert.Unwindings, unwindings[id])
	}
	return sum, nil
}

// checkInvariants checks the rules that every row must keep, before it is written.
func checkInvariants(e Effects) error {
	for _, mandates := range [][]Mandate{e.Insert.Mandates, e.Update.Mandates} {
		for _, m := range mandates {
			for _, w := range m.Windows {
				if !w.sound() {
					return fmt.Errorf("%w: mandate %s would have used %d of %d of its %s window", ErrInvariant, m.ID, w.Used, w.Cap, w.Kind)
				}
			}
		}
	}
	for _, tallies := range [][]Tally{e.Insert.Tallies, e.Update.Tallies} {
		for _, t := range tallies {
			if t.Used < 0 || t.Owed < 0 {
				return fmt.Errorf("%w: payee %s of mandate %s would have used or owe less than nothing", ErrInvariant, t.MerchantID, t.MandateID)
			}
		}
	}
	for _, c := range e.Update.Charges {
		if c.Refunded < 0 || c.Refunding < 0 || c.Refunded+c.Refunding > c.Amount {
			return fmt.Errorf("%w: charge %s of %d would have refunded %d and be refunding %d", ErrInvariant, c.ID, c.Amount, c.Refunded, c.Refunding)
		}
		if c.Paid() && c.Refunds == 0 && !balanced(c, e.Insert.Postings) {
			return fmt.Errorf("%w: postings of charge %s do not balance against its amount", ErrInvariant, c.ID)
		}
	}
	for _, tabs := range [][]Tab{e.Insert.Tabs, e.Update.Tabs} {
		for _, t := range tabs {
			if !t.sound() {
				return fmt.Errorf("%w: tab %s of %d would owe %d, have drawn %d, capture %d and have counted %d", ErrInvariant, t.ID, t.Block, t.Owed, t.Drawn, t.Capture, t.Counted)
			}
		}
	}
	for _, p := range e.Insert.Postings {
		if p.Amount <= 0 || p.From == p.To {
			return fmt.Errorf("%w: posting %d of charge %s moves nothing", ErrInvariant, p.N, p.ChargeID)
		}
	}
	return nil
}

// balanced reports whether the postings move a charge's amount from its mandate, with the
// mandate's session account, to its payee, leave nothing on the rail, and move the fee to the fees due.
func balanced(c Charge, all []Posting) bool {
	var payer, payee, fees, clearing Micros
	count := func(account string, amount Micros) bool {
		switch {
		case account == mandateAccount(c.MandateID), c.Source == SourceSeller && account == sessionAccount(c.MandateID):
			payer += amount
		case account == merchantAccount(c.MerchantID):
			payee += amount
		case account == feesDueAccount(c.MerchantID):
			fees += amount
		case account == clearingAccount(c.Rail):
			clearing += amount
		default:
			return false
		}
		return true
	}
	for _, p := range all {
		if p.ChargeID == c.ID && (!count(p.From, -p.Amount) || !count(p.To, p.Amount)) {
			return false
		}
	}
	return payer == -c.Amount && payee == c.Amount-c.Fee && fees == c.Fee && clearing == 0
}

// table holds the rows of one kind in a state, and records those that a batch changes.
type table[K comparable, R any] struct {
	rows     map[K]R
	key      func(R) K
	isNew    map[K]bool
	inserted []K
	updated  []K
}

func newTable[K comparable, R any](rows map[K]R, key func(R) K) *table[K, R] {
	return &table[K, R]{rows: rows, key: key, isNew: map[K]bool{}}
}

func (t *table[K, R]) apply(insert, update []R) {
	for _, r := range insert {
		k := t.key(r)
		t.rows[k], t.isNew[k] = r, true
		t.inserted = append(t.inserted, k)
	}
	for _, r := range update {
		k := t.key(r)
		if _, seen := t.isNew[k]; !seen {
			t.isNew[k] = false
			t.updated = append(t.updated, k)
		}
		t.rows[k] = r
	}
}

// changed returns each changed row once, in its final state.
func (t *table[K, R]) changed() (inserted, updated []R) {
	inserted, updated = make([]R, len(t.inserted)), make([]R, len(t.updated))
	for i, k := range t.inserted {
		inserted[i] = t.rows[k]
	}
	for i, k := range t.updated {
		updated[i] = t.rows[k]
	}
	return inserted, updated
}
