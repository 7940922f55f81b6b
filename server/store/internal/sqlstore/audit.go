package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
	"github.com/paywarrant/paywarrant/webhook"
)

// pageSize is how many rows are read at a time when all are.
const pageSize = 2000

// afterAll is above every id.
const afterAll = "~"

// Audit implements [ledger.Reader].
func (s *Store) Audit(ctx context.Context, check func(ledger.Audit) error) error {
	tx, err := s.read.BeginTx(ctx, s.engine.Snapshot)
	if err != nil {
		return s.fail("begin", err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	return check(&audit{store: s, tx: tx, q: s.readQ.WithTx(tx)})
}

// audit is a [ledger.Audit] in one transaction. It reads in pages, so that memory
// does not grow with the ledger, and by primary keys alone, so that no index is
// kept for it.
type audit struct {
	store *Store
	tx    *sql.Tx
	q     *db.Queries
}

// pages reads a list page by page and calls each for every row; next sets the
// beginning of the page after a row.
func pages[D any](read func() ([]D, error), next func(D), each func(D) error) error {
	for {
		page, err := read()
		if err != nil {
			return err
		}
		for _, d := range page {
			if err := each(d); err != nil {
				return err
			}
		}
		if len(page) < pageSize {
			return nil
		}
		next(page[len(page)-1])
	}
}

// Counters implements [ledger.Audit].
func (a *audit) Counters(ctx context.Context, each func(ledger.Counter) error) error {
	p := db.CountersParams{Limit: pageSize}
	var windows map[string][]db.Window // of the page
	return a.store.fail("read counters", pages(
		func() ([]db.CountersRow, error) {
			page, err := a.q.Counters(ctx, p)
			if err != nil || len(page) == 0 {
				return nil, err
			}
			all, err := a.q.WindowsBetween(ctx, db.WindowsBetweenParams{MandateID: p.ID, MandateID_2: page[len(page)-1].ID})
			windows = grouped(all)
			return page, err
		},
		func(r db.CountersRow) { p.ID = r.ID },
		func(r db.CountersRow) error {
			payees, err := row.HasPayeeLimit(r.Limits)
			if err != nil {
				return err
			}
			return each(ledger.Counter{
				MandateID: r.ID, Status: ledger.MandateStatus(r.Status), Windows: row.Windows(windows[r.ID]), Payees: payees, EventSeq: r.EventSeq,
			})
		}))
}

func fact(r db.ChargeFactsRow) (ledger.Charge, error) {
	return ledger.Charge{
		ID: r.ID, MandateID: r.MandateID, MerchantID: r.MerchantID, Amount: ledger.Micros(r.AmountMicros),
		Fee: ledger.Micros(r.FeeMicros), Day: ledger.Day(r.Day), Status: row.ChargeStatus(r.Status, r.WrittenOff), Rail: rail.Name(r.Rail), TabID: r.TabID, Source: ledger.Source(r.Source),
		Step: ledger.ChargeStep(r.Step), Refunded: ledger.Micros(r.RefundedMicros), Refunding: ledger.Micros(r.RefundingMicros), Refunds: int(r.Refunds),
	}, nil
}

// Charges implements [ledger.Audit].
func (a *audit) Charges(ctx context.Context, each func(ledger.Charge, []ledger.Posting) error) error {
	for from := ""; from != afterAll; {
		charges, err := many(a.store, fact)(a.q.ChargeFacts(ctx, db.ChargeFactsParams{ID: from, Limit: pageSize}))
		if err != nil {
			return fmt.Errorf("read charges: %w", err)
		}
		to := afterAll
		if len(charges) == pageSize {
			to = charges[pageSize-1].ID
		}
		postings, err := many(a.store, row.Posting)(a.q.PostingsBetween(ctx, db.PostingsBetweenParams{ChargeID: from, ChargeID_2: to}))
		if err != nil {
			return fmt.Errorf("read postings: %w", err)
		}
		if err := merge(charges, postings, each); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// merge calls each for every charge with its postings. Both lists are in order. Postings
// of a charge that is missing come with a charge that has only an id.
func merge(charges []ledger.Charge, postings []ledger.Posting, each func(ledger.Charge, []ledger.Posting) error) error {
	for len(charges) > 0 || len(postings) > 0 {
		var c ledger.Charge
		if len(charges) > 0 && (len(postings) == 0 || charges[0].ID <= postings[0].ChargeID) {
			c, charges = charges[0], charges[1:]
		} else {
			c.ID = postings[0].ChargeID
		}
		n := 0
		for n < len(postings) && postings[n].ChargeID == c.ID {
			n++
		}
		if err := each(c, postings[:n]); err != nil {
			return err
		}
		postings = postings[n:]
	}
	return nil
}

// Refunds implements [ledger.Audit].
func (a *audit) Refunds(ctx context.Context, each func(ledger.Refund) error) error {
	p := db.RefundFactsParams{Limit: pageSize}
	return a.store.fail("read refunds", pages(
		func() ([]db.RefundFactsRow, error) { return a.q.RefundFacts(ctx, p) },
		func(r db.RefundFactsRow) { p.ID = r.ID },
		func(r db.RefundFactsRow) error {
			return each(ledger.Refund{
				ID: r.ID, ChargeID: r.ChargeID, MandateID: r.MandateID, Amount: ledger.Micros(r.AmountMicros), Status: ledger.RefundStatus(r.Status),
				Rail: rail.Name(r.Rail), SettledAt: row.At(r.SettledMs),
			})
		}))
}

// Tabs implements [ledger.Audit].
func (a *audit) Tabs(ctx context.Context, each func(ledger.Tab) error) error {
	p := db.TabsAfterParams{Limit: pageSize}
	return a.store.fail("read tabs", pages(
		func() ([]db.Tab, error) { return a.q.TabsAfter(ctx, p) },
		func(r db.Tab) { p.ID = r.ID },
		func(r db.Tab) error {
			t, err := row.Tab(r)
			if err != nil {
				return err
			}
			return each(t)
		}))
}

// Sweeps implements [ledger.Audit].
func (a *audit) Sweeps(ctx context.Context, each func(ledger.Posting) error) error {
	all, err := many(a.store, row.Posting)(a.q.PostingsBetween(ctx, db.PostingsBetweenParams{ChargeID: id.Sweep, ChargeID_2: id.Sweep + afterAll}))
	if err != nil {
		return fmt.Errorf("read sweeps: %w", err)
	}
	for _, p := range all {
		if err := each(p); err != nil {
			return err
		}
	}
	return nil
}

// Tallies implements [ledger.Audit].
func (a *audit) Tallies(ctx context.Context, each func(ledger.Tally) error) error {
	p := db.TalliesAfterParams{Page: pageSize}
	return a.store.fail("read tallies", pages(
		func() ([]db.Tally, error) { return a.q.TalliesAfter(ctx, p) },
		func(r db.Tally) { p.MerchantID, p.MandateID = r.MerchantID, r.MandateID },
		func(r db.Tally) error {
			t, err := row.Tally(r)
			if err != nil {
				return err
			}
			return each(t)
		}))
}

// Events implements [ledger.Audit].
func (a *audit) Events(ctx context.Context, each func(ledger.Event) error) error {
	p := db.EventFactsParams{Page: pageSize}
	return a.store.fail("read events", pages(
		func() ([]db.EventFactsRow, error) { return a.q.EventFacts(ctx, p) },
		func(r db.EventFactsRow) { p.MandateID, p.Seq = r.MandateID, r.Seq },
		func(r db.EventFactsRow) error {
			return each(ledger.Event{MandateID: r.MandateID, Seq: r.Seq, Type: webhook.Type(r.Type), CreatedAt: row.At(r.CreatedMs)})
		}))
}
