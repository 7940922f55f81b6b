package signin

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/server/store"
)

// HasPasskeys reports whether the service can have passkeys: browsers allow them at https, and at
// localhost.
func (s *Service) HasPasskeys() bool { return s.relyingParty != nil }

// relyingParty returns what passkeys are bound to; nil if a browser would refuse it.
func relyingParty(baseURL string) (*webauthn.WebAuthn, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	host, origins := u.Hostname(), []string{baseURL}
	_, notIP := netip.ParseAddr(host)
	switch {
	case loopback.Host(host): // pages open by each name of it, and browsers allow this one
		origins = []string{u.Scheme + "://" + strings.Replace(u.Host, strings.TrimSuffix(u.Host, ":"+u.Port()), "localhost", 1)}
		host = "localhost"
	case notIP == nil || u.Scheme != "https" && !loopback.Name(host):
		return nil, nil //nolint:nilnil // as documented
	}
	return webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: u.Host, RPOrigins: origins, AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: protocol.ResidentKeyRequired(), ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
	})
}

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
