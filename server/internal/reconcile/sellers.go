package reconcile

import (
	"context"
	"errors"
	"strings"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
)

// A purchase from a seller outside of the service has two movements: what was moved into the
// session account of the mandate, if anything was missing there, and what the seller took. A
// sweep has one.

// fundingBatch is the number of purchases whose postings are read at a time.
const fundingBatch = 500

// purchase adds the line for what the seller takes, and remembers the charge for fundings.
func (r *run) purchase(c ledger.Charge) error {
	m, known := r.movers[rail.Chain]
	if !known {
		return nil
	}
	r.purchases = append(r.purchases, c.ID)
	return r.sorter.Add(line{
		Rail: rail.Chain, Side: recorded, Amount: c.Amount, ID: c.ID, State: r.stateOf(c, rail.Chain),
		Key: m.MovementKey(rail.PurchaseMovement, rail.Reference(c.ID, rail.Chain)),
	}.text())
}

// fundings adds the lines for what was moved into session accounts.
func (r *run) fundings(ctx context.Context, a ledger.Audit) error {
	for len(r.purchases) > 0 {
		n := min(len(r.purchases), fundingBatch)
		err := a.ChargesOf(ctx, r.purchases[:n], func(c ledger.Charge, p []ledger.Posting) error {
			l := r.funding(c, p)
			l.Key = r.movers[rail.Chain].MovementKey(rail.ChargeMovement, rail.FundingReference(rail.Reference(c.ID, rail.Chain)))
			return r.sorter.Add(l.text())
		})
		if err != nil {
			return err
		}
		r.purchases = r.purchases[n:]
	}
	return nil
}

// funding returns the line for what was moved for one purchase.
func (r *run) funding(c ledger.Charge, p []ledger.Posting) line {
	l := line{Rail: rail.Chain, Side: recorded, Amount: ledger.FundedBy(p), ID: c.ID, State: failed}
	switch {
	case c.Status == ledger.ChargePending:
		l.State = open
	case l.Amount > 0:
		l.State = r.due(p[0].At)
	}
	return l
}

// sweep adds the line for a sweep.
func (r *run) sweep(p ledger.Posting) error {
	m, known := r.movers[rail.Chain]
	if !known {
		return nil
	}
	return r.sorter.Add(line{
		Rail: rail.Chain, Side: recorded, Amount: p.Amount, ID: p.ChargeID, State: r.due(p.At), Key: m.MovementKey(rail.SweepMovement, p.ChargeID),
	}.text())
}

// lookUpSeller reads the ledger's side of a movement of a session account that the selection
// did not have.
func (r *run) lookUpSeller(ctx context.Context, g *group) (known bool, err error) {
	reference := rail.PurchaseOf(g.Reference)
	c, err := r.Ledger.Charge(ctx, strings.TrimSuffix(reference, rail.Reference("", g.Rail)))
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case reference == g.Reference: // what the seller took
		g.ID, g.Amount, g.State, g.recorded = c.ID, c.Amount, r.stateOf(c, g.Rail), true
		return true, nil
	}
	err = r.Ledger.Audit(ctx, func(a ledger.Audit) error {
		return a.ChargesOf(ctx, []string{c.ID}, func(c ledger.Charge, p []ledger.Posting) error {
			l := r.funding(c, p)
			g.ID, g.Amount, g.State, g.recorded = c.ID, l.Amount, l.State, true
			return nil
		})
	})
	return g.recorded, err
}
