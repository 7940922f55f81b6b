package sqlstore

import (
	"context"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// MandateCharges implements [ledger.Reader].
func (s *Store) MandateCharges(ctx context.Context, mandateID string, limit int) ([]ledger.Charge, error) {
	return many(s, row.Charge)(s.readQ.MandateCharges(ctx, db.MandateChargesParams{MandateID: mandateID, Most: int64(limit)}))
}

// MandateHeld implements [ledger.Reader].
func (s *Store) MandateHeld(ctx context.Context, mandateID string, on rail.Name) (ledger.Micros, error) {
	held, err := s.readQ.MandateHeld(ctx, db.MandateHeldParams{MandateID: mandateID, Rail: string(on)})
	if err != nil {
		return 0, s.fail("sum held charges", err)
	}
	return ledger.Micros(held), nil
}

// Spent implements [ledger.Reader].
func (s *Store) Spent(ctx context.Context, mandateID string) ([]ledger.Spent, error) {
	return many(s, func(r db.SpentRow) (ledger.Spent, error) {
		return ledger.Spent{MerchantID: r.MerchantID, Day: ledger.Day(r.Day), Amount: ledger.Micros(r.Micros), Count: r.Number}, nil
	})(s.readQ.Spent(ctx, mandateID))
}

// MandateVolume implements [ledger.Reader].
func (s *Store) MandateVolume(ctx context.Context, mandateID string) (ledger.Micros, error) {
	volume, err := s.readQ.MandateVolume(ctx, mandateID)
	if err != nil {
		return 0, s.fail("sum tallies", err)
	}
	return ledger.Micros(volume), nil
}
