package sqlstore

import (
	"context"
	"fmt"

	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Seals implements [store.Secrets].
func (s *Store) Seals(ctx context.Context, kind store.SealKind, after string, limit int) ([]store.Seal, error) {
	p := db.KeySealsParams{Name: after, Limit: int32(min(limit, 1<<20))}
	switch kind {
	case store.KeySeal:
		return sealed[db.KeySealsRow](s, kind)(s.readQ.KeySeals(ctx, p))
	case store.TokenSeal:
		return sealed[db.TokenSealsRow](s, kind)(s.readQ.TokenSeals(ctx, db.TokenSealsParams{Hash: p.Name, Limit: p.Limit}))
	case store.SecretSeal:
		return sealed[db.SecretSealsRow](s, kind)(s.readQ.SecretSeals(ctx, db.SecretSealsParams{ID: p.Name, Limit: p.Limit}))
	case store.PreviousSeal:
		return sealed[db.FormerSealsRow](s, kind)(s.readQ.FormerSeals(ctx, db.FormerSealsParams{ID: p.Name, Limit: p.Limit}))
	}
	return nil, fmt.Errorf("list seals: no kind %q", kind)
}

// sealedRow is a row of any of the lists.
type sealedRow interface {
	db.KeySealsRow | db.TokenSealsRow | db.SecretSealsRow | db.FormerSealsRow
}

func sealed[D sealedRow](s *Store, kind store.SealKind) func([]D, error) ([]store.Seal, error) {
	return many(s, func(d D) (store.Seal, error) {
		r := db.KeySealsRow(d)
		return store.Seal{Kind: kind, ID: r.Place, Owner: r.Owner, Sealed: r.Sealed}, nil
	})
}

// Reseal implements [store.Secrets].
func (s *Store) Reseal(ctx context.Context, one store.Seal, fresh []byte) (done bool, err error) {
	p := db.ResealKeyParams{Fresh: fresh, Place: one.ID, Expected: one.Sealed}
	err = put(ctx, s, "reseal", func(ctx context.Context, p db.ResealKeyParams) (err error) {
		var n int64
		switch one.Kind {
		case store.KeySeal:
			n, err = s.writeQ.ResealKey(ctx, p)
		case store.TokenSeal:
			n, err = s.writeQ.ResealToken(ctx, db.ResealTokenParams(p))
		case store.SecretSeal:
			n, err = s.writeQ.ResealSecret(ctx, db.ResealSecretParams(p))
		case store.PreviousSeal:
			n, err = s.writeQ.ResealFormer(ctx, db.ResealFormerParams(p))
		default:
			return fmt.Errorf("no kind %q", one.Kind)
		}
		done = n > 0
		return err
	}, p)
	return done && err == nil, err
}
