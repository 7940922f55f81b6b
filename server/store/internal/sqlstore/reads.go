package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// one is the answer of a query for one row that should exist.
func one[D, R any](s *Store, convert func(D) (R, error)) func(D, error) (R, error) {
	return func(stored D, err error) (R, error) {
		var none R
		if errors.Is(err, sql.ErrNoRows) {
			return none, ledger.ErrNotFound
		}
		if err != nil {
			return none, s.fail("read", err)
		}
		return convert(stored)
	}
}

// many is the answer of a query for a list.
func many[D, R any](s *Store, convert func(D) (R, error)) func([]D, error) ([]R, error) {
	return func(stored []D, err error) ([]R, error) {
		if err != nil {
			return nil, s.fail("read", err)
		}
		rows := make([]R, 0, len(stored))
		for _, d := range stored {
			row, e := convert(d)
			err = errors.Join(err, e)
			rows = append(rows, row)
		}
		return rows, err
	}
}

// Session implements [ledger.Reader].
func (s *Store) Session(ctx context.Context, hash string) (ledger.Session, error) {
	return one(s, row.Session)(s.readQ.Session(ctx, hash))
}

// Mandate implements [ledger.Reader].
func (s *Store) Mandate(ctx context.Context, id string) (ledger.Mandate, error) {
	m, err := one(s, row.Mandate)(s.readQ.Mandate(ctx, id))
	if err != nil {
		return ledger.Mandate{}, err
	}
	windows, err := s.readQ.Windows(ctx, id)
	m.Windows = row.Windows(windows)
	return m, s.fail("read windows", err)
}

// Charge implements [ledger.Reader].
func (s *Store) Charge(ctx context.Context, id string) (ledger.Charge, error) {
	return one(s, row.Charge)(s.readQ.Charge(ctx, id))
}

// Tab implements [ledger.Reader].
func (s *Store) Tab(ctx context.Context, id string) (ledger.Tab, error) {
	return one(s, row.Tab)(s.readQ.Tab(ctx, id))
}

// Tabs implements [ledger.Reader].
func (s *Store) Tabs(ctx context.Context, merchantID, before string, limit int) ([]ledger.Tab, error) {
	if before == "" {
		before = afterAll
	}
	return many(s, row.Tab)(s.readQ.Tabs(ctx, db.TabsParams{MerchantID: merchantID, Before: before, Most: int64(limit)}))
}

// MandateTabs implements [ledger.Reader].
func (s *Store) MandateTabs(ctx context.Context, mandateID string, limit int) ([]ledger.Tab, error) {
	return many(s, row.Tab)(s.readQ.MandateTabs(ctx, db.MandateTabsParams{MandateID: mandateID, Most: int64(limit)}))
}

// CurrentTabs implements [ledger.Reader].
func (s *Store) CurrentTabs(ctx context.Context, mandateID string) ([]ledger.Tab, error) {
	return many(s, row.Tab)(s.readQ.CurrentTabs(ctx, mandateID))
}

// Advances implements [ledger.Reader].
func (s *Store) Advances(ctx context.Context, merchantID string, since time.Time) (ledger.Micros, error) {
	// Tabs first: one that closes meanwhile counts in both, not in neither.
	tabs, err := s.readQ.Exposure(ctx, db.ExposureParams{MerchantID: merchantID, Minimum: int64(ledger.CardMinimum)})
	if err != nil {
		return 0, s.fail("sum open tabs", err)
	}
	owed, err := s.readQ.Owed(ctx, db.OwedParams{MerchantID: merchantID, SinceMs: row.Millis(since)})
	return ledger.Micros(owed) + ledger.Micros(tabs), s.fail("sum advances", err)
}

// PaidBy implements [ledger.Reader].
func (s *Store) PaidBy(ctx context.Context, draw ledger.Charge) (string, error) {
	return one(s, func(id string) (string, error) { return id, nil })(s.readQ.PaidBy(ctx, draw.TabID))
}

// Draws implements [ledger.Reader].
func (s *Store) Draws(ctx context.Context, tabID, after string, limit int) ([]ledger.Charge, error) {
	return many(s, row.Charge)(s.readQ.Draws(ctx, db.DrawsParams{TabID: tabID, After: after, Most: int64(limit)}))
}

// RefundOf implements [ledger.Reader].
func (s *Store) RefundOf(ctx context.Context, chargeID, id string) (ledger.Refund, error) {
	return one(s, row.Refund)(s.readQ.RefundOf(ctx, db.RefundOfParams{ChargeID: chargeID, ID: id}))
}

// RefundsOf implements [ledger.Reader].
func (s *Store) RefundsOf(ctx context.Context, chargeID string, after, limit int) ([]ledger.Refund, error) {
	return many(s, row.Refund)(s.readQ.RefundsOf(ctx, db.RefundsOfParams{ChargeID: chargeID, After: int64(after), Most: int64(limit)}))
}

// LapsedRefunds implements [ledger.Reader].
func (s *Store) LapsedRefunds(ctx context.Context, before time.Time, except []rail.Name, limit int) ([]ledger.Refund, error) {
	p := db.LapsedRefundsParams{BeforeMs: row.Millis(before), Most: int64(limit)}
	for _, name := range except {
		p.Without += " " + string(name) + " "
	}
	return many(s, row.Refund)(s.readQ.LapsedRefunds(ctx, p))
}

// ExpiredHolds implements [ledger.Reader].
func (s *Store) ExpiredHolds(ctx context.Context, now time.Time, limit int) ([]ledger.Charge, error) {
	return many(s, row.Charge)(s.readQ.ExpiredHolds(ctx, db.ExpiredHoldsParams{NowMs: row.Millis(now), Most: int64(limit)}))
}

// Charges implements [ledger.Reader].
func (s *Store) Charges(ctx context.Context, merchantID, before string, limit int) ([]ledger.Charge, error) {
	if before == "" {
		before = "~" // above every id
	}
	return many(s, row.Charge)(s.readQ.Charges(ctx, db.ChargesParams{MerchantID: merchantID, Before: before, Most: int64(limit)}))
}

// ChargesOfTransaction implements [ledger.Reader]. Chains with hexadecimal hashes store
// them in lower case.
func (s *Store) ChargesOfTransaction(ctx context.Context, transaction string, limit int) ([]ledger.Charge, error) {
	return many(s, row.Charge)(s.readQ.ChargesOfTransaction(ctx, db.ChargesOfTransactionParams{
		Tx: transaction, LowerCase: strings.ToLower(transaction), Most: int64(limit),
	}))
}

// OutcomeConflicts implements [ledger.Reader].
func (s *Store) OutcomeConflicts(ctx context.Context, after ledger.OutcomeConflict, limit int) ([]ledger.OutcomeConflict, error) {
	return many(s, row.OutcomeConflict)(s.readQ.OutcomeConflicts(ctx, db.OutcomeConflictsParams{
		ChargeID: after.ChargeID, Rail: string(after.Rail), Status: string(after.Status), TxHash: after.TxHash, ProcessorID: after.ProcessorID,
		Most: int64(limit),
	}))
}

// Reversed implements [ledger.Reader].
func (s *Store) Reversed(ctx context.Context, chargeID string) (bool, error) {
	n, err := s.readQ.Reversals(ctx, chargeID)
	return n > 0, s.fail("find reversal of charge", err)
}

// Checkout implements [ledger.Reader].
func (s *Store) Checkout(ctx context.Context, entropy string) (ledger.Checkout, error) {
	return one(s, row.Checkout)(s.readQ.Checkout(ctx, entropy))
}

// InstrumentsOfMandate implements [ledger.Reader].
func (s *Store) InstrumentsOfMandate(ctx context.Context, mandateID string) ([]ledger.Instrument, error) {
	return many(s, row.Instrument)(s.readQ.InstrumentsOfMandate(ctx, mandateID))
}

// InstrumentsOfSession implements [ledger.Reader].
func (s *Store) InstrumentsOfSession(ctx context.Context, hash string) ([]ledger.Instrument, error) {
	return many(s, row.Instrument)(s.readQ.InstrumentsOfSession(ctx, hash))
}

// Stats implements [ledger.Reader].
func (s *Store) Stats(ctx context.Context, merchantID string, now time.Time) (ledger.Stats, error) {
	totals, err := s.readQ.Totals(ctx, merchantID)
	if err != nil {
		return ledger.Stats{}, s.fail("sum tallies", err)
	}
	active, err := s.readQ.ActiveMandates(ctx, db.ActiveMandatesParams{MerchantID: merchantID, ExpiresMs: row.Millis(now)})
	if err != nil {
		return ledger.Stats{}, s.fail("count active mandates", err)
	}
	return ledger.Stats{Volume: ledger.Micros(totals.Volume), Refunded: ledger.Micros(totals.Refunded), Count: totals.Count, ActiveMandates: active}, nil
}

// Ping implements [ledger.Reader].
func (s *Store) Ping(ctx context.Context) error { return s.fail("ping", s.read.PingContext(ctx)) }
