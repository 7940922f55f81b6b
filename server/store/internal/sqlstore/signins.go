package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/row"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// changed returns a statement for put that reports in done whether it changed a row.
func changed[P any](done *bool, exec func(context.Context, P) (int64, error)) func(context.Context, P) error {
	return func(ctx context.Context, p P) error {
		n, err := exec(ctx, p)
		*done = err == nil && n > 0
		return err
	}
}

// PutCode implements [store.SignIns].
func (s *Store) PutCode(ctx context.Context, c store.Code, now, since time.Time, most int) (done bool, err error) {
	err = put(ctx, s, "put code", changed(&done, s.writeQ.PutCode), db.PutCodeParams{
		Purpose: c.Purpose, Account: c.Account, Binding: c.Binding, ID: c.ID, NowMs: row.Millis(now), ExpiresMs: row.Millis(c.ExpiresAt),
		WindowMs: row.Millis(since), Most: int64(most),
	})
	return done, err
}

// AttemptCode implements [store.SignIns].
func (s *Store) AttemptCode(ctx context.Context, purpose, account, binding string, now time.Time, most int) (store.Code, error) {
	var stored db.SignInCode
	var none error
	err := put(ctx, s, "attempt code", func(ctx context.Context, p db.AttemptCodeParams) error {
		if stored, none = s.writeQ.AttemptCode(ctx, p); errors.Is(none, sql.ErrNoRows) {
			return nil
		}
		return none
	}, db.AttemptCodeParams{Purpose: purpose, Account: account, Binding: binding, Most: int64(most), NowMs: row.Millis(now)})
	if err != nil {
		return store.Code{}, err
	}
	return one(s, row.Code)(stored, none)
}

// UseCode implements [store.SignIns].
func (s *Store) UseCode(ctx context.Context, id string) (done bool, err error) {
	err = put(ctx, s, "use code", changed(&done, s.writeQ.UseCode), id)
	return done, err
}

// Code implements [store.SignIns].
func (s *Store) Code(ctx context.Context, id string) (store.Code, error) {
	return one(s, row.Code)(s.readQ.Code(ctx, id))
}

// DeleteCodes implements [store.SignIns].
func (s *Store) DeleteCodes(ctx context.Context, purpose, account string) error {
	return put(ctx, s, "delete codes", s.writeQ.DeleteCodes, db.DeleteCodesParams{Account: account, Purpose: purpose})
}

// WebSession implements [store.SignIns].
func (s *Store) WebSession(ctx context.Context, hash string) (store.WebSession, error) {
	return one(s, row.WebSession)(s.readQ.WebSession(ctx, hash))
}

// AddWebSession implements [store.SignIns].
func (s *Store) AddWebSession(ctx context.Context, w store.WebSession) error {
	return put(ctx, s, "add web session", s.writeQ.AddWebSession, db.AddWebSessionParams{
		Hash: w.Hash, Kind: w.Kind, Subject: w.Subject, Data: w.Data, ExpiresMs: row.Millis(w.ExpiresAt),
	})
}

// SaveWebSession implements [store.SignIns].
func (s *Store) SaveWebSession(ctx context.Context, w store.WebSession) error {
	return put(ctx, s, "save web session", s.writeQ.SaveWebSession, db.SaveWebSessionParams{
		Hash: w.Hash, Kind: w.Kind, Subject: w.Subject, Data: w.Data, ExpiresMs: row.Millis(w.ExpiresAt),
	})
}

// DeleteWebSession implements [store.SignIns].
func (s *Store) DeleteWebSession(ctx context.Context, hash string) error {
	return put(ctx, s, "delete web session", s.writeQ.DeleteWebSession, hash)
}

// DeleteWebSessions implements [store.SignIns].
func (s *Store) DeleteWebSessions(ctx context.Context, kind, subject string) error {
	return put(ctx, s, "delete web sessions", s.writeQ.DeleteWebSessions, db.DeleteWebSessionsParams{Kind: kind, Subject: subject})
}
