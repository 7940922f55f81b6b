package sqlstore

import (
	"context"
	"fmt"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Seals implements [ledger.Seals].
func (s *Store) Seals(ctx context.Context, kind ledger.SealKind, after string, limit int) ([]ledger.Seal, error) {
	p := db.KeySealsParams{Name: after, Limit: int32(min(limit, 1<<20))}
	switch kind {
	case ledger.KeySeal:
		return sealed[db.KeySealsRow](s, kind)(s.readQ.KeySeals(ctx, p))
	case ledger.TokenSeal:
		return sealed[db.TokenSealsRow](s, kind)(s.readQ.TokenSeals(ctx, db.TokenSealsParams{Hash: p.Name, Limit: p.Limit}))
	case ledger.SecretSeal:
		return sealed[db.SecretSealsRow](s, kind)(s.readQ.SecretSeals(ctx, db.SecretSealsParams{ID: p.Name, Limit: p.Limit}))
	case ledger.PreviousSeal:
		return sealed[db.FormerSealsRow](s, kind)(s.readQ.FormerSeals(ctx, db.FormerSealsParams{ID: p.Name, Limit: p.Limit}))
	}
	return nil, fmt.Errorf("list seals: no kind %q", kind)
}

// sealedRow is a row of any of the lists.
type sealedRow interface {
	db.KeySealsRow | db.TokenSealsRow | db.SecretSealsRow | db.FormerSealsRow
}

func sealed[D sealedRow](s *Store, kind ledger.SealKind) func([]D, error) ([]ledger.Seal, error) {
	return many(s, func(d D) (ledger.Seal, error) {
		r := db.KeySealsRow(d)
		return ledger.Seal{Kind: kind, Place: r.Place, Owner: r.Owner, Sealed: r.Sealed}, nil
	})
}

// Reseal implements [ledger.Seals].
func (s *Store) Reseal(ctx context.Context, one ledger.Seal, fresh []byte) (done bool, err error) {
	p := db.ResealKeyParams{Fresh: fresh, Place: one.Place, Expected: one.Sealed}
	err = put(ctx, s, "reseal", func(ctx context.Context, p db.ResealKeyParams) (err error) {
		var n int64
		switch one.Kind {
		case ledger.KeySeal:
			n, err = s.writeQ.ResealKey(ctx, p)
		case ledger.TokenSeal:
			n, err = s.writeQ.ResealToken(ctx, db.ResealTokenParams(p))
		case ledger.SecretSeal:
			n, err = s.writeQ.ResealSecret(ctx, db.ResealSecretParams(p))
		case ledger.PreviousSeal:
			n, err = s.writeQ.ResealFormer(ctx, db.ResealFormerParams(p))
		default:
			return fmt.Errorf("no kind %q", one.Kind)
		}
		done = n > 0
		return err
	}, p)
	return done && err == nil, err
}
