package postgres

import (
	"fmt"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// held lists the rows that a transaction has locked. It may update no others, which covers
// checks before anything is sent.
type held struct {
	sessions, mandates, charges map[string]bool
	checkouts, instruments      map[string]bool
	refunds, tabs               map[string]bool
	tallies                     map[ledger.TallyKey]bool
}

// heldBy returns the rows that loading has locked. Charges that only an
// idempotency key named are loaded but not locked.
func heldBy(keys ledger.Keys, s *ledger.State) held {
	h := held{sessions: namesOf(s.Sessions), mandates: namesOf(s.Mandates), charges: map[string]bool{}, tallies: namesOf(s.Tallies)}
	h.checkouts, h.instruments, h.refunds = namesOf(s.Checkouts), namesOf(s.Instruments), namesOf(s.Refunds)
	h.tabs = namesOf(s.Tabs)
	for _, id := range keys.Charges {
		_, h.charges[id] = s.Charges[id]
	}
	return h
}

func namesOf[K comparable, R any](rows map[K]R) map[K]bool {
	names := make(map[K]bool, len(rows))
	for k := range rows {
		names[k] = true
	}
	return names
}

// covers returns [ledger.ErrInvariant] if a row to update is not held.
func (h held) covers(e ledger.Effects) error {
	for _, r := range e.Update.Sessions {
		if !h.sessions[r.Hash] {
			return fmt.Errorf("%w: session to update is not locked", ledger.ErrInvariant)
		}
	}
	for _, r := range e.Update.Mandates {
		if !h.mandates[r.ID] {
			return fmt.Errorf("%w: mandate %s to update is not locked", ledger.ErrInvariant, r.ID)
		}
	}
	for _, r := range e.Update.Charges {
		if !h.charges[r.ID] {
			return fmt.Errorf("%w: charge %s to update is not locked", ledger.ErrInvariant, r.ID)
		}
	}
	for _, r := range e.Update.Checkouts {
		if !h.checkouts[r.Entropy] {
			return fmt.Errorf("%w: checkout %s to update is not locked", ledger.ErrInvariant, r.ID)
		}
	}
	for _, r := range e.Update.Instruments {
		if !h.instruments[r.Reference] {
			return fmt.Errorf("%w: instrument %s to update is not locked", ledger.ErrInvariant, r.Reference)
		}
	}
	for _, r := range e.Update.Refunds {
		if !h.refunds[r.ID] {
			return fmt.Errorf("%w: refund %s to update is not locked", ledger.ErrInvariant, r.ID)
		}
	}
	for _, r := range e.Update.Tabs {
		if !h.tabs[r.ID] {
			return fmt.Errorf("%w: tab %s to update is not locked", ledger.ErrInvariant, r.ID)
		}
	}
	for _, r := range e.Update.Tallies {
		if !h.tallies[r.TallyKey] {
			return fmt.Errorf("%w: tally of mandate %s to update is not locked", ledger.ErrInvariant, r.MandateID)
		}
	}
	return nil
}
