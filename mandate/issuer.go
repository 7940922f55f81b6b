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

// SignerFunc gives the key to sign with now. It is asked for every mandate, so
// that keys can rotate and be unsealed for one signature only. The signer must
// be of ECDSA on P-256; its kid is the thumbprint of its public key.
type SignerFunc func(ctx context.Context) (crypto.Signer, error)

// FixedSigner always gives key.
func FixedSigner(key crypto.Signer) SignerFunc {
	return func(context.Context) (crypto.Signer, error) { return key, nil }
}

// Issuer makes mandates. Set the fields and use it, from many goroutines if need be.
type Issuer struct {
	// URL is the address of the service, the claim iss: an https URL, or for
	// development an http URL of the loopback interface. Required.
	URL string
	// Signer gives the key. Required.
	Signer SignerFunc
}

// Terms are what a mandate will say. Everything is required but NotBefore, Status
// and RequireBinding.
type Terms struct {
	// ID is del_ and 1 to 64 of A-Za-z0-9_-.
	ID     string
	Limits Limits
	// Payees are those who may be paid; [AnyPayee] alone allows anybody.
	Payees []Payee
	// Rails are the ways to pay, each once.
	Rails []Rail
	// IssuedAt, ExpiresAt and NotBefore are cut to whole seconds.
	IssuedAt, ExpiresAt, NotBefore time.Time
	// SessionKey is the public part of the mandate's own key.
	SessionKey PublicKey
	// Status is the mandate's place in a status list.
	Status *StatusRef
	// RequireBinding makes a token that is good only with a key binding. Whoever
	// is shown a presentation can cut the binding off; presentations that go to
	// strangers are made of such a token, so that the rest is worth nothing.
	RequireBinding bool
}

// errLost tells that a mandate would not say what its terms do.
var errLost = errors.New("terms cannot be told exactly (invalid UTF-8, or a rail named twice)")

// Issue signs a mandate. What it returns was read back as a verifier reads it,
// and says exactly the terms.
//
// Errors: [*Error] with the reason of the rule that the terms break
// (bad_limits, bad_constraints, bad_exp, too_large, …); those of the Signer;
// any other says that the Issuer is not configured or that the terms cannot be
// told exactly.
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

// publicOf is the public part of a signer of ECDSA on P-256.
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

// prove reads a token back and compares it with its terms: a signer that lies
// about its key, or terms that JSON repairs, never get out of here.
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
