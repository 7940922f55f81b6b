package row

import (
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
)

// Code reads a stored row.
func Code(r db.SignInCode) (store.Code, error) {
	return store.Code{Purpose: r.Purpose, Account: r.Account, Binding: r.Binding, ID: r.ID, Attempts: int(r.Attempts), ExpiresAt: at(r.ExpiresMs)}, nil
}

// WebSession reads a stored row.
func WebSession(r db.WebSession) (store.WebSession, error) {
	return store.WebSession{Hash: r.Hash, Kind: r.Kind, Subject: r.Subject, Data: r.Data, ExpiresAt: at(r.ExpiresMs)}, nil
}

// Passkey reads a stored row.
func Passkey(r db.Passkey) (store.Passkey, error) {
	return store.Passkey{
		ID: r.ID, Subject: r.Subject, Email: r.Email, Name: r.Name, PublicKey: r.PublicKey, Flags: byte(r.Flags),
		SignCount: uint32(r.SignCount), CreatedAt: at(r.CreatedMs), UsedAt: at(r.UsedMs), SuspectAt: at(r.SuspectMs),
	}, nil
}
