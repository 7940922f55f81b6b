package mandate_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
)

const (
	issuerURL = "https://pay.example"
	audience  = "https://api.example.com"
	nonce     = "ch_8f3k"
)

// fixture is an issuer with one key, a session key and a clock.
type fixture struct {
	issuerKey, sessionKey *ecdsa.PrivateKey
	issuer                mandate.Issuer
	now                   time.Time
}

func setup(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{issuerKey: newKey(t), sessionKey: newKey(t), now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	f.issuer = mandate.Issuer{URL: issuerURL, Signer: mandate.FixedSigner(f.issuerKey)}
	return f
}

// setupFixed has the same keys every time, so that a kept corpus keeps its meaning.
func setupFixed(t testing.TB) *fixture {
	t.Helper()
	f := setup(t)
	for i, k := range []**ecdsa.PrivateKey{&f.issuerKey, &f.sessionKey} {
		scalar := make([]byte, 32)
		scalar[0] = byte(i + 1)
		var err error
		*k, err = ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar)
		require.NoError(t, err)
	}
	f.issuer.Signer = mandate.FixedSigner(f.issuerKey)
	return f
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return k
}

func public(t testing.TB, k *ecdsa.PrivateKey) mandate.PublicKey {
	t.Helper()
	p, err := mandate.NewPublicKey(&k.PublicKey)
	require.NoError(t, err)
	return p
}

func (f *fixture) terms(t testing.TB) mandate.Terms {
	t.Helper()
	return mandate.Terms{
		ID:     "del_01JD7Q8XKQ2V5T9N3W6Y0ZB4CF",
		Limits: mandate.Limits{MaxPerTxCents: 500, MaxMonthlyCents: 5015},
		Payees: []mandate.Payee{{ID: "mer_0001", Name: "Weather", Website: "https://weather.example"}, {ID: "mer_0002", Name: "Karten & Söhne"}},
		Rails:  []mandate.Rail{mandate.CardRail, mandate.ChainRail},
		// issued a while ago, so that the clock can go both ways
		IssuedAt: f.now.Add(-time.Hour), ExpiresAt: f.now.Add(30 * 24 * time.Hour),
		SessionKey: public(t, f.sessionKey),
		Status:     &mandate.StatusRef{Index: 7, URI: issuerURL + "/status/1"},
	}
}

func (f *fixture) issue(t testing.TB) mandate.Token {
	t.Helper()
	tok, err := f.issuer.Issue(context.Background(), f.terms(t))
	require.NoError(t, err)
	return tok
}

// verifier trusts the fixture's key; its clock follows f.now.
func (f *fixture) verifier() *mandate.Verifier {
	key, err := mandate.NewPublicKey(&f.issuerKey.PublicKey)
	if err != nil {
		panic(err)
	}
	return &mandate.Verifier{Issuer: issuerURL, Keys: mandate.StaticKeys(key), Clock: func() time.Time { return f.now }}
}

func (f *fixture) binding() mandate.Binding {
	return mandate.Binding{
		Audience: audience, Nonce: nonce, IssuedAt: f.now,
		Transaction: mandate.TransactionData{AmountMicros: 10_000, PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", Network: "base", Resource: audience + "/weather"},
	}
}

func (f *fixture) present(t testing.TB, m mandate.Token) mandate.Token {
	t.Helper()
	p, err := mandate.Present(m, f.sessionKey, f.binding())
	require.NoError(t, err)
	return p
}
