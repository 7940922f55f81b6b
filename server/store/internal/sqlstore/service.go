package sqlstore

import (
	"context"
	"errors"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Owner implements [ledger.Owned].
func (s *Store) Owner(ctx context.Context) (ledger.Identity, error) {
	owner := func(r db.Service) (ledger.Identity, error) {
		return ledger.Identity{Mode: r.Mode, Issuer: r.Issuer, Epoch: int(r.Epoch)}, nil
	}
	return one(s, owner)(s.readQ.Service(ctx))
}

// Claim implements [ledger.Owned].
func (s *Store) Claim(ctx context.Context, i ledger.Identity) (ledger.Identity, error) {
	if stored, err := s.Owner(ctx); !errors.Is(err, ledger.ErrNotFound) {
		return stored, err
	}
	p := db.ClaimServiceParams{Mode: i.Mode, Issuer: i.Issuer, Epoch: int64(i.Epoch)}
	if err := put(ctx, s, "claim store", s.writeQ.ClaimService, p); err != nil {
		return ledger.Identity{}, err
	}
	return s.Owner(ctx) // of two claims at once, the first one
}

// Move implements [ledger.Owned].
func (s *Store) Move(ctx context.Context, issuer string) error {
	return put(ctx, s, "move store", s.writeQ.MoveService, issuer)
}
