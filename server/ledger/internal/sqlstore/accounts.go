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

// MerchantByWallet implements [ledger.Accounts].
func (s *Store) MerchantByWallet(ctx context.Context, payTo string) (ledger.Merchant, error) {
	return one(s, row.Merchant)(s.readQ.MerchantByWallet(ctx, payTo))
}

// PutMerchant implements [ledger.Accounts].
func (s *Store) PutMerchant(ctx context.Context, m ledger.Merchant) error {
	return s.fail("put merchant", s.writeQ.PutMerchant(ctx, row.PutMerchant(m)))
}

// APIKey implements [ledger.Accounts].
func (s *Store) APIKey(ctx context.Context, hash string) (ledger.APIKey, error) {
	return one(s, row.APIKey)(s.readQ.APIKey(ctx, hash))
}

// PutAPIKey implements [ledger.Accounts].
func (s *Store) PutAPIKey(ctx context.Context, k ledger.APIKey) error {
	return s.fail("put API key", s.writeQ.PutAPIKey(ctx, db.PutAPIKeyParams{
		Hash: k.Hash, MerchantID: k.MerchantID, Hint: k.Hint, CreatedMs: row.Millis(k.CreatedAt), RevokedMs: row.Millis(k.RevokedAt),
	}))
}

// SealedKeys implements [ledger.Accounts].
func (s *Store) SealedKeys(ctx context.Context, prefix string) ([]ledger.SealedKey, error) {
	return many(s, row.SealedKey)(s.readQ.SealedKeys(ctx, db.SealedKeysParams{Name: prefix, Name_2: prefix + "~"}))
}

// AddSealedKey implements [ledger.Accounts].
func (s *Store) AddSealedKey(ctx context.Context, k ledger.SealedKey) error {
	n, err := s.writeQ.AddSealedKey(ctx, db.AddSealedKeyParams(row.PutSealedKey(k)))
	if err == nil && n == 0 {
		return ledger.ErrConflict
	}
	return s.fail("add sealed key", err)
}

// PutSealedKey implements [ledger.Accounts].
func (s *Store) PutSealedKey(ctx context.Context, k ledger.SealedKey) error {
	return s.fail("put sealed key", s.writeQ.PutSealedKey(ctx, row.PutSealedKey(k)))
}

// DeleteSealedKey implements [ledger.Accounts].
func (s *Store) DeleteSealedKey(ctx context.Context, name string) error {
	return s.fail("delete sealed key", s.writeQ.DeleteSealedKey(ctx, name))
}
