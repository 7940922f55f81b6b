package sqlstore

import (
	"context"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/ledger/internal/sqlstore/db"
)

// Merchant implements [ledger.Accounts].
func (s *Store) Merchant(ctx context.Context, id string) (ledger.Merchant, error) {
	return one(merchant)(s.readQ.Merchant(ctx, id))
}

// PutMerchant implements [ledger.Accounts].
func (s *Store) PutMerchant(ctx context.Context, m ledger.Merchant) error {
	return s.writeQ.PutMerchant(ctx, putMerchant(m))
}

// APIKey implements [ledger.Accounts].
func (s *Store) APIKey(ctx context.Context, hash string) (ledger.APIKey, error) {
	return one(apiKey)(s.readQ.APIKey(ctx, hash))
}

// PutAPIKey implements [ledger.Accounts].
func (s *Store) PutAPIKey(ctx context.Context, k ledger.APIKey) error {
	return s.writeQ.PutAPIKey(ctx, db.PutAPIKeyParams{
		Hash: k.Hash, MerchantID: k.MerchantID, Hint: k.Hint, CreatedMs: ms(k.CreatedAt), RevokedMs: ms(k.RevokedAt),
	})
}

// SealedKeys implements [ledger.Accounts].
func (s *Store) SealedKeys(ctx context.Context, prefix string) ([]ledger.SealedKey, error) {
	return many(sealedKey)(s.readQ.SealedKeys(ctx, db.SealedKeysParams{Name: prefix, Name_2: prefix + "~"}))
}

// PutSealedKey implements [ledger.Accounts].
func (s *Store) PutSealedKey(ctx context.Context, k ledger.SealedKey) error {
	return s.writeQ.PutSealedKey(ctx, db.PutSealedKeyParams{
		Name: k.Name, State: k.State, Public: k.Public, Sealed: k.Sealed, CreatedMs: ms(k.CreatedAt), ChangedMs: ms(k.ChangedAt),
	})
}

// DeleteSealedKey implements [ledger.Accounts].
func (s *Store) DeleteSealedKey(ctx context.Context, name string) error {
	return s.writeQ.DeleteSealedKey(ctx, name)
}
