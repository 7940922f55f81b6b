package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"time"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// period returns the bounds of ids and of times of creation for a period.
func period(from, to time.Time) (after, before string, fromMs, toMs int64) {
	after, before, fromMs, toMs = "", afterAll, math.MinInt64, math.MaxInt64
	if from.After(time.UnixMilli(0).Add(idDrift)) {
		after, fromMs = id.First(id.Charge, from.Add(-idDrift)), millisUp(from)
	}
	if !to.IsZero() {
		before, toMs = id.First(id.Charge, to.Add(idDrift)), millisUp(to)
	}
	return after, before, fromMs, toMs
}

// SearchCharges implements [store.Reports].
func (s *Store) SearchCharges(ctx context.Context, f store.ChargeFilter) ([]ledger.Charge, string, error) {
	p := db.SearchChargesParams{
		MerchantID: f.MerchantID, Status: string(f.Status), Rail: string(f.Rail), Reason: string(f.Reason), Reference: f.Reference, Most: int64(f.Limit),
	}
	p.After, p.Before, p.FromMs, p.ToMs = period(f.From, f.To)
	if f.Before != "" {
		p.Before = min(p.Before, f.Before)
	}
	floor, err := s.searchFloor(ctx, p, f.MandateID)
	if err != nil {
		return nil, "", s.fail("find the end of a search", err)
	}
	p.After = max(p.After, floor)
	found, err := many(s, row.Charge)(s.search(ctx, p, f.MandateID))
	if err != nil {
		return nil, "", err
	}
	if len(found) == f.Limit {
		return found, found[len(found)-1].ID, nil
	}
	return found, floor, nil
}

// searchFloor returns the oldest charge that a search reads, or an empty string if it reads
// all.
func (s *Store) searchFloor(ctx context.Context, p db.SearchChargesParams, mandateID string) (floor string, err error) {
	if mandateID == "" {
		floor, err = s.readQ.SearchFloor(ctx, db.SearchFloorParams{MerchantID: p.MerchantID, Before: p.Before, After: p.After, Depth: store.MaxSearched - 1})
	} else {
		floor, err = s.readQ.SearchFloorOfMandate(ctx, db.SearchFloorOfMandateParams{MandateID: mandateID, Before: p.Before, After: p.After, Depth: store.MaxSearched - 1})
	}
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return floor, err
}

func (s *Store) search(ctx context.Context, p db.SearchChargesParams, mandateID string) ([]db.Charge, error) {
	if mandateID == "" {
		return s.readQ.SearchCharges(ctx, p)
	}
	return s.readQ.SearchChargesOfMandate(ctx, db.SearchChargesOfMandateParams{
		MandateID: mandateID, MerchantID: p.MerchantID, After: p.After, Before: p.Before, FromMs: p.FromMs, ToMs: p.ToMs,
		Status: p.Status, Rail: p.Rail, Reason: p.Reason, Reference: p.Reference, Most: p.Most,
	})
}

// ChargeTotals implements [store.Reports].
func (s *Store) ChargeTotals(ctx context.Context, merchantID string, from, to time.Time) ([]store.ChargeTotal, error) {
	p := db.ChargeTotalsParams{MerchantID: merchantID}
	p.After, p.Before, p.FromMs, p.ToMs = period(from, to)
	return many(s, func(t db.ChargeTotalsRow) (store.ChargeTotal, error) {
		return store.ChargeTotal{
			Day: time.Unix(t.Days*int64(24*time.Hour/time.Second), 0).UTC(), Status: ledger.ChargeStatus(t.Status), Rail: rail.Name(t.Rail),
			Reason: rail.Reason(t.FailureReason), Count: t.Number, Amount: ledger.Micros(t.Amount), Refunded: ledger.Micros(t.Refunded), Fees: ledger.Micros(t.Fees),
		}, nil
	})(s.readQ.ChargeTotals(ctx, p))
}

// MandatesOf implements [store.Reports].
func (s *Store) MandatesOf(ctx context.Context, merchantID, before string, limit int) ([]ledger.Mandate, error) {
	beforeMs, before, err := s.mandateCreated(ctx, before)
	if err != nil {
		return nil, err
	}
	p := db.MandatesOfParams{MerchantID: merchantID, BeforeMs: beforeMs, Before: before, Most: int64(limit)}
	return s.withWindows(ctx)(many(s, row.Mandate)(s.readQ.MandatesOf(ctx, p)))
}

// UsableMandatesOf implements [store.Reports].
func (s *Store) UsableMandatesOf(ctx context.Context, merchantID string, now time.Time, limit int) ([]ledger.Mandate, error) {
	p := db.UsableMandatesOfParams{MerchantID: merchantID, Now: now.UnixMilli(), Most: int64(limit)}
	return s.withWindows(ctx)(many(s, row.Mandate)(s.readQ.UsableMandatesOf(ctx, p)))
}

// mandateCreated returns when a mandate was created, as the place from which a list goes on:
// after all if the id is empty, before all if there is no such mandate.
func (s *Store) mandateCreated(ctx context.Context, mandateID string) (ms int64, before string, err error) {
	if mandateID == "" {
		return math.MaxInt64, afterAll, nil
	}
	ms, err = s.readQ.MandateCreated(ctx, mandateID)
	if errors.Is(err, sql.ErrNoRows) {
		return math.MinInt64, "", nil
	}
	return ms, mandateID, s.fail("read time of mandate", err)
}

// withWindows reads the windows of mandates that were read.
func (s *Store) withWindows(ctx context.Context) func([]ledger.Mandate, error) ([]ledger.Mandate, error) {
	return func(list []ledger.Mandate, err error) ([]ledger.Mandate, error) {
		for i := range list {
			var windows []db.Window
			if windows, err = s.readQ.Windows(ctx, list[i].ID); err != nil {
				return nil, s.fail("read windows", err)
			}
			list[i].Windows = row.Windows(windows)
		}
		return list, err
	}
}

// MerchantsByEmail implements [store.Reports].
func (s *Store) MerchantsByEmail(ctx context.Context, email string, limit int) ([]ledger.Merchant, error) {
	return many(s, row.Merchant)(s.readQ.MerchantsByEmail(ctx, db.MerchantsByEmailParams{Email: email, Most: int64(limit)}))
}
