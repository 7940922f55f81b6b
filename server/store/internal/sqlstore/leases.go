package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Lapsed implements [ledger.Reader].
func (s *Store) Lapsed(ctx context.Context, before time.Time, except []rail.Name, limit int) ([]ledger.Charge, error) {
	names := make([]string, len(except))
	for i, name := range except {
		names[i] = string(name)
	}
	text, err := encoded(single(names))
	if err != nil {
		return nil, s.fail("list lapsed charges", err)
	}
	scan := func(r *sql.Rows, id *string) error { return r.Scan(id) }
	ids, err := rows(ctx, lister{s}, scan, db.Lapsed, text, row.Millis(before), limit)
	if err != nil {
		return nil, s.fail("list lapsed charges", err)
	}
	charges := make([]ledger.Charge, 0, len(ids))
	for _, id := range ids {
		c, err := s.Charge(ctx, id)
		if err != nil {
			return nil, err
		}
		charges = append(charges, c)
	}
	return charges, nil
}

// FreeChargeLeases implements [ledger.Store].
func (s *Store) FreeChargeLeases(ctx context.Context, instance string) error {
	if !s.engine.OneProcess {
		return nil
	}
	free := func(ctx context.Context, own string) error {
		s.kept.forget() // it holds the leases too
		_, charges := s.writeQ.FreeChargeLeases(ctx, own)
		_, tabs := s.writeQ.FreeTabLeases(ctx, own)
		_, refunds := s.writeQ.FreeRefundLeases(ctx, own)
		return errors.Join(charges, tabs, refunds)
	}
	return put(ctx, s, "free charge leases", free, instance+".%")
}
