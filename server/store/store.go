// Package store defines the service's one database. [Store] is the whole of it: the rows of
// money, which package ledger defines, and everything else that the service stores.
// Packages sqlite and postgres implement it:
//
//	db, err := sqlite.Open(ctx, "pay.db")
//	srv, err := server.New(ctx, server.Config{Store: db, …}) // the server closes it
//
// Each part is an interface of its own, so that a program or a test implements only what
// it uses. Methods return [ledger.ErrUnavailable] if the database failed.
//
// The package holds no SQL and no rules: package ledger decides about money, and the
// packages of the service decide about the rest. Package storetest has the suite that
// every Store passes.
package store

import "github.com/paywarrant/paywarrant/server/ledger"

// Store is the service's database. It is safe for concurrent use.
type Store interface {
	ledger.Store

	Accounts
	AuditTrail
	Keys
	Listings
	Mails
	MandateOwners
	NoticesStore
	OAuth
	Passkeys
	Reports
	Secrets
	SignIns
	Tokens
	Webhooks
}
