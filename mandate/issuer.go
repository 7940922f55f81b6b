package mandate

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/paywarrant/paywarrant/internal/sdjwt"
)

// SignerFunc returns the key to sign with. It is called for every mandate, so that keys
// can rotate and can be unsealed for a single signature. The signer must be ECDSA on
// P-256; its kid is the thumbprint of its public key.
type SignerFunc func(ctx context.Context) (crypto.Signer, error)

// FixedSigner returns a SignerFunc that always returns key.
func FixedSigner(key crypto.Signer) SignerFunc {
	return func(context.Context) (crypto.Signer, error) { return key, nil }
}

// Issuer issues mandates. Set the fields before the first use. It is safe for concurrent use.
type Issuer struct {
	// URL is the address of the service, used as the claim iss: an https URL, or for
	// development an http URL of the loopback interface. Required.
	URL string
	// Signer returns the signing key. Required.
	Signer SignerFunc
}

// Terms are the content of a mandate. All fields without a stated default are required.
type Terms struct {
	// ID is the mandate's id: del_ and 1 to 64 of A-Za-z0-9_-.
	ID string
	// Limits are the spending limits.
	Limits Limits
	// Payees are the merchants that may be paid. [AnyPayee] alone allows any merchant.
	Payees []Payee
	// Rails are the rails that the mandate can pay on, without duplicates.
	Rails []Rail
	// IssuedAt is when the mandate is issued, truncated to seconds.
	IssuedAt time.Time
	// ExpiresAt is when the mandate expires, truncated to seconds.
	ExpiresAt time.Time
	// NotBefore is when the mandate becomes valid, truncated to seconds. Default: IssuedAt.
	NotBefore time.Time
	// SessionKey is the public part of the mandate's own key.
	SessionKey PublicKey
	// Status refers to the mandate's entry in a status list. Default: none.
	Status *StatusRef
	// RequireBinding makes the token valid only with a key binding. The receiver of a
	// presentation can remove the binding, so presentations for third parties are made of
	// such a token: what is left cannot be used. Default: false.
	RequireBinding bool
}

// errLost reports that a token would differ from its terms.
var errLost = errors.New("terms cannot be expressed exactly (invalid UTF-8, or a duplicate rail)")

// Issue signs a mandate. It reads the result back as a verifier does, and returns it only
// if it has exactly these terms.
//
// It returns an [*Error] with the rule that the terms break (bad_limits, bad_constraints,
// bad_exp, too_large, …), the errors of Signer, or another error if the Issuer is not
// configured or the terms cannot be expressed exactly.
func (i *Issuer) Issue(ctx context.Context, terms Terms) (Token, error) {
	text, err := i.issue(ctx, terms)
	if err != nil {
		return Token{}, fmt.Errorf("issue mandate: %w", err)
	}
	return newToken(text), nil
}

func (i *Issuer) issue(ctx context.Context, terms Terms) (string, error) {
	trusted, err := parseIssuer(i.URL)
	if err != nil {
		return "", err
	}
	if i.Signer == nil {
		return "", errors.New("no Signer")
	}
	if terms.SessionKey.IsZero() {
		return "", refuse(BadCnf)
	}
	signer, err := i.Signer(ctx)
	if err != nil {
		return "", fmt.Errorf("get signing key: %w", err)
	}
	key, err := publicOf(signer)
	if err != nil {
		return "", fmt.Errorf("get signing key: %w", err)
	}
	payload, err := terms.payload(i.URL)
	if err != nil {
		return "", err
	}
	header := []byte(`{"alg":"ES256","typ":"` + typ + `","kid":"` + key.ID() + `"}`)
	jwt, err := sdjwt.Sign(header, payload, signer)
	if err != nil {
		return "", err
	}
	return jwt + "~", terms.prove(jwt+"~", trusted, key)
}

// publicOf returns the public key of a signer, which must be ECDSA on P-256.
func publicOf(s crypto.Signer) (PublicKey, error) {
	if s == nil {
		return PublicKey{}, errors.New("no signer")
	}
	pub, ok := s.Public().(*ecdsa.PublicKey)
	if !ok {
		return PublicKey{}, ErrBadKey
	}
	return NewPublicKey(pub)
}

// prove reads a token back and compares it with its terms. It catches signers that use
// another key than they claim, and terms that JSON encoding changes.
func (t Terms) prove(text string, trusted issuerURL, key PublicKey) error {
	tok, err := split(Prefix + text)
	if err != nil {
		return err
	}
	if err := tok.Issuer.Verify(key.key); err != nil {
		return wrap(err)
	}
	got, err := readIssued(tok, trusted, window{ignore: true})
	if err != nil {
		return err
	}
	same := got.ID == t.ID && got.iat == seconds(t.IssuedAt) && got.exp == seconds(t.ExpiresAt) && got.nbf == seconds(t.NotBefore) &&
		got.Limits == t.Limits && got.RequiresBinding == t.RequireBinding && got.SessionKey.Equal(t.SessionKey) &&
		reflect.DeepEqual(got.Payees, t.Payees) && reflect.DeepEqual(got.Rails, t.Rails) &&
		reflect.DeepEqual(got.Status, t.Status)
	if !same {
		return errLost
	}
	return nil
}
