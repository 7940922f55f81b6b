package store

import (
	"context"
	"time"
)

// Passkey is a public key with which an account signs in.
type Passkey struct {
	// ID is the credential's id, in base64url without padding.
	ID string
	// Subject is the account: the id of a merchant.
	Subject string
	// Email is the account's address when the passkey was added. The passkey is not valid after
	// the account has another one.
	Email string
	// Name is the owner's name for the passkey.
	Name string
	// PublicKey is in the format of WebAuthn (COSE).
	PublicKey []byte
	// Flags are those of the authenticator's last answer.
	Flags byte
	// SignCount is the authenticator's count of signatures; zero if it does not count.
	SignCount uint32
	// CreatedAt is the time of creation.
	CreatedAt time.Time
	// UsedAt is the time of the last sign-in; zero if there was none.
	UsedAt time.Time
	// SuspectAt is the time at which the count did not grow, so that there may be a copy of the
	// key; zero if it always did. The passkey is not valid any more.
	SuspectAt time.Time
}

// Passkeys stores passkeys.
type Passkeys interface {
	// Passkey returns a passkey. It returns [ledger.ErrNotFound] if there is none.
	Passkey(ctx context.Context, id string) (Passkey, error)
	// PasskeysOf returns the passkeys of an account, oldest first.
	PasskeysOf(ctx context.Context, subject string) ([]Passkey, error)
	// AddPasskey inserts a passkey. It returns [ledger.ErrConflict] if the id exists.
	AddPasskey(ctx context.Context, k Passkey) error
	// UsePasskey records a sign-in with the authenticator's flags and count. It does nothing and
	// reports false if there is no such valid passkey, or if the count is not above the last one
	// and they are not both zero.
	UsePasskey(ctx context.Context, id string, flags byte, count uint32, at time.Time) (done bool, err error)
	// SuspectPasskey sets SuspectAt. It reports whether it did: of several callers, one does.
	SuspectPasskey(ctx context.Context, id string, at time.Time) (done bool, err error)
	// DeletePasskey deletes a passkey of an account, and reports whether there was one.
	DeletePasskey(ctx context.Context, subject, id string) (done bool, err error)
}
