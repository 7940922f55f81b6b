package sqlstore

import (
	"context"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/ledger/internal/row"
	"github.com/paywarrant/paywarrant/server/ledger/internal/sqlstore/db"
)

// Merchant implements [ledger.Accounts].
func (s *Store) Merchant(ctx context.Context, id string) (ledger.Merchant, error) {
	return one(s, row.Merchant)(s.readQ.Merchant(ctx, id))
}

// MerchantByKey implements [ledger.Accounts].
func (s *Store) MerchantByKey(ctx context.Context, hash string) (ledger.Merchant, error) {
	return one(s, row.Merchant)(s.readQ.MerchantByKey(ctx, hash))
}

// MerchantByWallet implements [ledger.Accounts].
func (s *Store) MerchantByWallet(ctx context.Context, payTo string) (ledger.Merchant, error) {
	return one(s, row.Merchant)(s.readQ.MerchantByWallet(ctx, payTo))
}

// PutMerchant implements [ledger.Accounts].
func (s *Store) PutMerchant(ctx context.Context, m ledger.Merchant) error {
	return put(ctx, s, "put merchant", s.writeQ.PutMerchant, row.PutMerchant(m))
}

// APIKey implements [ledger.Accounts].
func (s *Store) APIKey(ctx context.Context, hash string) (ledger.APIKey, error) {
	return one(s, row.APIKey)(s.readQ.APIKey(ctx, hash))
}

// PutAPIKey implements [ledger.Accounts].
func (s *Store) PutAPIKey(ctx context.Context, k ledger.APIKey) error {
	return put(ctx, s, "put API key", s.writeQ.PutAPIKey, db.PutAPIKeyParams{
		Hash: k.Hash, MerchantID: k.MerchantID, Hint: k.Hint, CreatedMs: row.Millis(k.CreatedAt), RevokedMs: row.Millis(k.RevokedAt),
	})
}

// SealedKeys implements [ledger.Accounts].
func (s *Store) SealedKeys(ctx context.Context, prefix string) ([]ledger.SealedKey, error) {
	return many(s, row.SealedKey)(s.readQ.SealedKeys(ctx, db.SealedKeysParams{Name: prefix, Name_2: prefix + "~"}))
}

// AddSealedKey implements [ledger.Accounts].
func (s *Store) AddSealedKey(ctx context.Context, k ledger.SealedKey) error {
	add := func(ctx context.Context, p db.AddSealedKeyParams) error {
		n, err := s.writeQ.AddSealedKey(ctx, p)
		if err == nil && n == 0 {
			return ledger.ErrConflict
		}
		return err
	}
	return put(ctx, s, "add sealed key", add, db.AddSealedKeyParams(row.PutSealedKey(k)))
}

// PutSealedKey implements [ledger.Accounts].
func (s *Store) PutSealedKey(ctx context.Context, k ledger.SealedKey) error {
	return put(ctx, s, "put sealed key", s.writeQ.PutSealedKey, row.PutSealedKey(k))
}

// DeleteSealedKey implements [ledger.Accounts].
func (s *Store) DeleteSealedKey(ctx context.Context, name string) error {
	return put(ctx, s, "delete sealed key", s.writeQ.DeleteSealedKey, name)
}
