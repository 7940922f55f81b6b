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
