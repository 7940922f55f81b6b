package sqlstore

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// idDrift is more than the time in a charge's id differs from the time of its creation.
const idDrift = 24 * time.Hour

// selected returns the parameters that select s, with refunds also every charge that has some.
// Only ids bound what is read: a selection by the time of settlement reads all
// charges.
func selected(s ledger.Selection, refunds bool) db.SelectedChargesOfParams {
	p := db.SelectedChargesOfParams{
		MerchantID: s.MerchantID, Before: afterAll, CreatedFrom: math.MinInt64, CreatedTo: math.MaxInt64,
		SettledFrom: math.MinInt64, SettledTo: math.MaxInt64, Most: pageSize, WithoutRefunds: math.MaxInt64,
	}
	from, to := &p.CreatedFrom, &p.CreatedTo
	if s.Settled {
		p.SettledFrom = 1 // the others have 0
		from, to = &p.SettledFrom, &p.SettledTo
	}
	if !s.From.IsZero() {
		*from = max(*from, millisUp(s.From))
	}
	if !s.To.IsZero() {
		*to = millisUp(s.To)
	}
	if s.From.After(time.UnixMilli(0).Add(idDrift)) && !s.Settled {
		p.After = id.First(id.Charge, s.From.Add(-idDrift))
	}
	if !s.To.IsZero() && !s.Settled {
		p.Before = id.First(id.Charge, s.To.Add(idDrift))
	}
	if refunds && s.Settled {
		p.WithoutRefunds = 0
	}
	return p
}

// millisUp rounds a time up: a stored time of whole milliseconds is before t if and only
// if it is before millisUp of t.
func millisUp(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

// pagesOf calls each for every page of the selected charges.
func (a *audit) pagesOf(ctx context.Context, p db.SelectedChargesOfParams, each func([]ledger.Charge) error) error {
	for {
		read := func() ([]db.Charge, error) { return a.q.SelectedChargesOf(ctx, p) }
		if p.MerchantID == "" {
			read = func() ([]db.Charge, error) {
				return a.q.SelectedCharges(ctx, db.SelectedChargesParams{
					After: p.After, Before: p.Before, CreatedFrom: p.CreatedFrom, CreatedTo: p.CreatedTo,
					SettledFrom: p.SettledFrom, SettledTo: p.SettledTo, WithoutRefunds: p.WithoutRefunds, Most: p.Most,
				})
			}
		}
		page, err := many(a.store, row.Charge)(read())
		if err != nil {
			return fmt.Errorf("read charges: %w", err)
		}
		if err := each(page); err != nil {
			return err
		}
		if len(page) < pageSize {
			return nil
		}
		p.After = page[len(page)-1].ID
	}
}

// Selected implements [ledger.Audit].
func (a *audit) Selected(ctx context.Context, s ledger.Selection, each func(ledger.Charge) error) error {
	return a.pagesOf(ctx, selected(s, false), func(page []ledger.Charge) error {
		for _, c := range page {
			if err := each(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// SelectedPostings implements [ledger.Audit].
func (a *audit) SelectedPostings(ctx context.Context, s ledger.Selection, each func(ledger.Charge, []ledger.Posting) error) error {
	return a.pagesOf(ctx, selected(s, true), func(page []ledger.Charge) error {
		ids := make([]string, len(page))
		for i, c := range page {
			ids[i] = c.ID
		}
		postings, err := a.postingsOf(ctx, ids)
		if err != nil {
			return fmt.Errorf("read postings: %w", err)
		}
		return merge(page, postings, func(c ledger.Charge, all []ledger.Posting) error {
			posted := s.Posted(c, all)
			if len(posted) == 0 && !s.Has(c) { // its refunds are of other periods
				return nil
			}
			return each(c, posted)
		})
	})
}
