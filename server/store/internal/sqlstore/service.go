package sqlstore

import (
	"context"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Claim implements [ledger.Owned].
func (s *Store) Claim(ctx context.Context, i ledger.Identity) (ledger.Identity, error) {
	owner := func(r db.Service) (ledger.Identity, error) {
		return ledger.Identity{Mode: r.Mode, Issuer: r.Issuer, Epoch: int(r.Epoch)}, nil
	}
	stored, err := one(s, owner)(s.readQ.Service(ctx))
	if err == nil {
		return stored, nil
	}
	p := db.ClaimServiceParams{Mode: i.Mode, Issuer: i.Issuer, Epoch: int64(i.Epoch)}
	if err := put(ctx, s, "claim store", s.writeQ.ClaimService, p); err != nil {
		return ledger.Identity{}, err
	}
	return one(s, owner)(s.readQ.Service(ctx)) // of two at once, the first one's
}

// Move implements [ledger.Owned].
func (s *Store) Move(ctx context.Context, issuer string) error {
	return put(ctx, s, "move store", s.writeQ.MoveService, issuer)
}
