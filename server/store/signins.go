package store

import (
	"context"
	"time"
)

// Code is a one-time code that proves an account. The code itself is not stored: its owner
// derives it from the id.
type Code struct {
	// Purpose is what the code is for, in the terms of its owner.
	Purpose string
	// Account is what the code proves, such as an email address.
	Account string
	// Binding is what asked for the code, such as a browser. There is one Code of a purpose and
	// an account for it.
	Binding string
	// ID identifies the code.
	ID string
	// Attempts is the number of codes entered so far.
	Attempts int
	// ExpiresAt is the end of validity; 1970 once the code is used.
	ExpiresAt time.Time
}

// WebSession is a session of a browser.
type WebSession struct {
	// Hash is the SHA-256 of the session's token.
	Hash string
	// Kind and Subject identify the account that the session belongs to.
	Kind, Subject string
	// Data is the content, in the format of its owner.
	Data []byte
	// ExpiresAt is the end of validity. Expired sessions are returned until they are deleted.
	ExpiresAt time.Time
}

// MandateOwners stores who proved an account when they confirmed a mandate.
type MandateOwners interface {
	// AddMandateOwner adds a mandate to an account. It is not an error if it has it.
	AddMandateOwner(ctx context.Context, kind, subject, mandateID string) error
	// MandatesOfOwner returns the ids of an account's mandates, newest first, beginning after
	// the mandate with the id before, or with the newest if before is empty. It leaves out
	// mandates that never came into being.
	MandatesOfOwner(ctx context.Context, kind, subject, before string, limit int) ([]string, error)
	// OwnsMandate reports whether an account has a mandate.
	OwnsMandate(ctx context.Context, kind, subject, mandateID string) (bool, error)
	// DeleteMandateOwner takes all mandates from an account.
	DeleteMandateOwner(ctx context.Context, kind, subject string) error
}

// SignIns stores one-time codes and web sessions.
type SignIns interface {
	// PutCode replaces the code of a purpose, an account and a binding. It counts codes from the first
	// one since the time given, and reports whether it did: no more than most are put.
	PutCode(ctx context.Context, c Code, now, since time.Time, most int) (done bool, err error)
	// AttemptCode counts an attempt before the code is compared, and returns the code. It
	// returns [ledger.ErrNotFound] if there is no valid code with fewer than most attempts.
	AttemptCode(ctx context.Context, purpose, account, binding string, now time.Time, most int) (Code, error)
	// UseCode ends a code, and the count of those that were put in its place. It reports
	// whether it did: of several callers, one does.
	UseCode(ctx context.Context, id string) (done bool, err error)
	// Code returns the code with an id. It returns [ledger.ErrNotFound] if it was replaced.
	Code(ctx context.Context, id string) (Code, error)
	// DeleteCodes deletes the codes of an account for a purpose; empty: for all.
	DeleteCodes(ctx context.Context, purpose, account string) error

	// WebSession returns a session. It returns [ledger.ErrNotFound] if there is none.
	WebSession(ctx context.Context, hash string) (WebSession, error)
	// AddWebSession inserts a session.
	AddWebSession(ctx context.Context, s WebSession) error
	// SaveWebSession replaces a session. It does nothing if there is none, so that a request
	// that was under way at a sign-out does not restore the session.
	SaveWebSession(ctx context.Context, s WebSession) error
	// DeleteWebSession deletes a session. It is not an error if there is none.
	DeleteWebSession(ctx context.Context, hash string) error
	// DeleteWebSessions deletes all sessions of an account.
	DeleteWebSessions(ctx context.Context, kind, subject string) error
}
