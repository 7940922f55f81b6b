package signin

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/paywarrant/paywarrant/internal/loopback"
	"github.com/paywarrant/paywarrant/server/ledger"
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

// A passkey answers a challenge, which is derived from the id of a stored code like the digits
// of a mailed one: valid in the browser that asked for it, for a while, and for one answer.

const (
	// PasskeyLifetime is the time in which a passkey must answer.
	PasskeyLifetime = 5 * time.Minute
	// MaxPasskeysPerNetwork is the number of sign-ins by passkey that one network asks for in
	// Window. They do not count as codes, so that neither way uses up the other.
	MaxPasskeysPerNetwork = 1000

	newPasskey  = "passkey"         // the purpose of challenges for a passkey that is added
	usedPasskey = "passkey_sign_in" // and of those for a sign-in, which do not name an account

	passkeyNetwork = "passkey_network" // the purpose of rows that count the sign-ins of networks
)

var (
	// ErrNoChallenge reports an answer without a valid challenge: it expired, or was answered.
	ErrNoChallenge = errors.New("signin: no valid challenge for a passkey")
	// ErrPasskey reports an answer that proves no passkey of the service.
	ErrPasskey = errors.New("signin: not proven by a passkey")
	// ErrPasskeyCopied reports an answer whose count of signatures did not grow. There may be a
	// copy of the key, which is not valid any more.
	ErrPasskeyCopied = errors.New("signin: the passkey may have been copied")
)

// AskForNewPasskey returns what navigator.credentials.create takes, as JSON. The binding is the
// [Sessions.Browser]. It returns [ErrTooMany].
func (s *Service) AskForNewPasskey(ctx context.Context, a PasskeyAccount, binding string) (json.RawMessage, error) {
	code, err := s.putChallenge(ctx, newPasskey, a.ID, binding)
	if err != nil {
		return nil, err
	}
	options, _, err := s.creation(a, s.challenge(code))
	if err != nil {
		return nil, err
	}
	return json.Marshal(options.Response)
}

// NewPasskey checks the answer to AskForNewPasskey and returns the passkey, which is not stored
// and has no name. It returns [ErrNoChallenge] or [ErrPasskey].
func (s *Service) NewPasskey(ctx context.Context, a PasskeyAccount, binding, answer string) (store.Passkey, error) {
	code, err := s.takeChallenge(ctx, newPasskey, a.ID, binding)
	if err != nil {
		return store.Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(answer))
	if err != nil {
		return store.Passkey{}, fmt.Errorf("%w: %w", ErrPasskey, err)
	}
	_, session, err := s.creation(a, s.challenge(code))
	if err != nil {
		return store.Passkey{}, err
	}
	made, err := s.relyingParty.CreateCredential(a, *session, parsed)
	if err != nil {
		return store.Passkey{}, fmt.Errorf("%w: %w", ErrPasskey, err)
	}
	return store.Passkey{
		ID: base64.RawURLEncoding.EncodeToString(made.ID), Subject: a.ID, Email: a.Email, PublicKey: made.PublicKey,
		Flags: byte(made.Flags.ProtocolValue()), SignCount: made.Authenticator.SignCount, CreatedAt: s.Clock(),
	}, nil
}

// AskForPasskey returns what navigator.credentials.get takes, as JSON. The client is the network
// that asks. It returns [ErrTooMany].
func (s *Service) AskForPasskey(ctx context.Context, binding, client string) (json.RawMessage, error) {
	from := hex.EncodeToString(s.mac(passkeyNetwork, client))
	count := store.Code{Purpose: passkeyNetwork, Account: from, ID: rand.Text()}
	if done, err := s.Store.PutCode(ctx, count, s.Clock(), s.Clock().Add(-Window), MaxPasskeysPerNetwork); err != nil || !done {
		return nil, tooMany(err)
	}
	code, err := s.putChallenge(ctx, usedPasskey, "", binding)
	if err != nil {
		return nil, err
	}
	options, _, err := s.relyingParty.BeginDiscoverableLogin(webauthn.WithChallenge(s.challenge(code)))
	if err != nil {
		return nil, fmt.Errorf("ask for a passkey: %w", err)
	}
	return json.Marshal(options.Response)
}

// CheckPasskey checks the answer to AskForPasskey, and returns the passkey that signed it. It
// returns [ErrNoChallenge], [ErrPasskey], or [ErrPasskeyCopied] with the passkey.
func (s *Service) CheckPasskey(ctx context.Context, binding, answer string) (store.Passkey, error) {
	code, err := s.takeChallenge(ctx, usedPasskey, "", binding)
	if err != nil {
		return store.Passkey{}, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(answer))
	if err != nil {
		return store.Passkey{}, fmt.Errorf("%w: %w", ErrPasskey, err)
	}
	key, err := s.Store.Passkey(ctx, base64.RawURLEncoding.EncodeToString(parsed.RawID))
	switch {
	case errors.Is(err, ledger.ErrNotFound), err == nil && !key.SuspectAt.IsZero():
		return store.Passkey{}, ErrPasskey
	case err != nil:
		return store.Passkey{}, fmt.Errorf("read passkey: %w", err)
	}
	_, session, err := s.relyingParty.BeginDiscoverableLogin(webauthn.WithChallenge(s.challenge(code)))
	if err != nil {
		return store.Passkey{}, fmt.Errorf("check passkey: %w", err)
	}
	owner := func([]byte, []byte) (webauthn.User, error) {
		return PasskeyAccount{ID: key.Subject, Passkeys: []store.Passkey{key}}, nil
	}
	_, proven, err := s.relyingParty.ValidatePasskeyLogin(owner, *session, parsed)
	if err != nil {
		return store.Passkey{}, fmt.Errorf("%w: %w", ErrPasskey, err)
	}
	return key, s.usePasskey(ctx, key.ID, byte(proven.Flags.ProtocolValue()), parsed.Response.AuthenticatorData.Counter)
}

// usePasskey records a sign-in. One whose count did not grow ends the passkey.
func (s *Service) usePasskey(ctx context.Context, id string, flags byte, count uint32) error {
	used, err := s.Store.UsePasskey(ctx, id, flags, count, s.Clock())
	if err != nil || used {
		return err
	}
	suspect, err := s.Store.SuspectPasskey(ctx, id, s.Clock())
	switch {
	case err != nil:
		return err
	case !suspect: // it was removed, or another answer came first
		return ErrPasskey
	}
	return ErrPasskeyCopied
}

// creation returns what a browser makes a passkey from, and what its answer is checked against.
func (s *Service) creation(a PasskeyAccount, challenge []byte) (*protocol.CredentialCreation, *webauthn.SessionData, error) {
	options, session, err := s.relyingParty.BeginRegistration(a,
		webauthn.WithExclusions(webauthn.Credentials(a.WebAuthnCredentials()).CredentialDescriptors()),
		func(o *protocol.PublicKeyCredentialCreationOptions) error {
			o.Challenge = challenge
			return nil
		})
	if err != nil {
		return nil, nil, fmt.Errorf("add a passkey: %w", err)
	}
	return options, session, nil
}

// putChallenge stores a challenge, which replaces the last one.
func (s *Service) putChallenge(ctx context.Context, purpose, account, binding string) (store.Code, error) {
	now := s.Clock()
	code := store.Code{Purpose: purpose, Account: account, Binding: s.tag(binding), ID: rand.Text(), ExpiresAt: now.Add(PasskeyLifetime)}
	if done, err := s.Store.PutCode(ctx, code, now, now.Add(-Window), MaxCodesPerNetwork); err != nil || !done {
		return store.Code{}, tooMany(err)
	}
	return code, nil
}

// takeChallenge ends a challenge: of several answers, one is checked.
func (s *Service) takeChallenge(ctx context.Context, purpose, account, binding string) (store.Code, error) {
	code, err := s.Store.AttemptCode(ctx, purpose, account, s.tag(binding), s.Clock(), 1)
	if errors.Is(err, ledger.ErrNotFound) {
		return store.Code{}, ErrNoChallenge
	}
	if err != nil {
		return store.Code{}, fmt.Errorf("take challenge: %w", err)
	}
	return code, nil
}

// challenge derives the bytes of a challenge.
func (s *Service) challenge(c store.Code) []byte {
	return s.mac("challenge", c.ID, c.Purpose, c.Account, c.Binding)
}
