package signin

import (
	"encoding/base64"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/paywarrant/paywarrant/server/store"
)

// PasskeyAccount is an account to which a passkey is added.
type PasskeyAccount struct {
	// ID identifies the account, and Email is its address.
	ID, Email string
	// Name is what the browser shows.
	Name string
	// Passkeys are those that it has, none of which is added again.
	Passkeys []store.Passkey
}

// WebAuthnID implements webauthn.User.
func (a PasskeyAccount) WebAuthnID() []byte { return []byte(a.ID) }

// WebAuthnName implements webauthn.User.
func (a PasskeyAccount) WebAuthnName() string { return a.Email }

// WebAuthnDisplayName implements webauthn.User.
func (a PasskeyAccount) WebAuthnDisplayName() string { return a.Name }

// WebAuthnCredentials implements webauthn.User.
func (a PasskeyAccount) WebAuthnCredentials() []webauthn.Credential {
	all := make([]webauthn.Credential, len(a.Passkeys))
	for i, k := range a.Passkeys {
		id, err := base64.RawURLEncoding.DecodeString(k.ID)
		if err != nil {
			continue // it was encoded here
		}
		all[i] = webauthn.Credential{
			ID: id, PublicKey: k.PublicKey, Flags: webauthn.NewCredentialFlags(protocol.AuthenticatorFlags(k.Flags)),
			Authenticator: webauthn.Authenticator{SignCount: k.SignCount},
		}
	}
	return all
}
