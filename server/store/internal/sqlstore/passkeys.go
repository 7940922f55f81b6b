package sqlstore

import (
	"context"
	"time"

	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Passkey implements [store.Passkeys].
func (s *Store) Passkey(ctx context.Context, id string) (store.Passkey, error) {
	return one(s, row.Passkey)(s.readQ.Passkey(ctx, id))
}

// PasskeysOf implements [store.Passkeys].
func (s *Store) PasskeysOf(ctx context.Context, subject string) ([]store.Passkey, error) {
	return many(s, row.Passkey)(s.readQ.PasskeysOf(ctx, subject))
}

// AddPasskey implements [store.Passkeys].
func (s *Store) AddPasskey(ctx context.Context, k store.Passkey) error {
	return put(ctx, s, "add passkey", s.writeQ.AddPasskey, db.AddPasskeyParams{
		ID: k.ID, Subject: k.Subject, Email: k.Email, Name: k.Name, PublicKey: k.PublicKey, Flags: int64(k.Flags), SignCount: int64(k.SignCount),
		CreatedMs: row.Millis(k.CreatedAt),
	})
}

// UsePasskey implements [store.Passkeys].
func (s *Store) UsePasskey(ctx context.Context, id string, flags byte, count uint32, at time.Time) (done bool, err error) {
	err = put(ctx, s, "use passkey", changed(&done, s.writeQ.UsePasskey), db.UsePasskeyParams{
		ID: id, Flags: int64(flags), SignCount: int64(count), UsedMs: row.Millis(at),
	})
	return done, err
}

// SuspectPasskey implements [store.Passkeys].
func (s *Store) SuspectPasskey(ctx context.Context, id string, at time.Time) (done bool, err error) {
	err = put(ctx, s, "suspect passkey", changed(&done, s.writeQ.SuspectPasskey), db.SuspectPasskeyParams{ID: id, SuspectMs: row.Millis(at)})
	return done, err
}

// DeletePasskey implements [store.Passkeys].
func (s *Store) DeletePasskey(ctx context.Context, subject, id string) (done bool, err error) {
	err = put(ctx, s, "delete passkey", changed(&done, s.writeQ.DeletePasskey), db.DeletePasskeyParams{Subject: subject, ID: id})
	return done, err
}
