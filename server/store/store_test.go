package store_test

import (
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// parts embeds each part of a Store. It compiles only if no part has the name of one of
// its methods, which the field would hide.
type parts struct {
	ledger.Store
	store.Accounts
	store.AuditTrail
	store.Keys
	store.Listings
	store.Mails
	store.MandateOwners
	store.NoticesStore
	store.OAuth
	store.Passkeys
	store.Reports
	store.Secrets
	store.SignIns
	store.Tokens
	store.Webhooks
}

var _ store.Store = parts{}
