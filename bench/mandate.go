package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
)

// mandateRows compare the verification of a mandate with a bare ES256 check.
func mandateRows(ctx context.Context) ([]row, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := mandate.NewPublicKey(&key.PublicKey)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	issuer := mandate.Issuer{URL: "https://pay.example", Signer: mandate.FixedSigner(key)}
	token, err := issuer.Issue(ctx, mandate.Terms{
		ID: "del_bench", Limits: mandate.Limits{MaxPerTxCents: 500, MaxMonthlyCents: 5000},
		Payees: []mandate.Payee{{ID: "mer_1", Name: "Merchant"}}, Rails: []mandate.Rail{mandate.CardRail},
		IssuedAt: now, ExpiresAt: now.Add(time.Hour), SessionKey: public,
	})
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256([]byte("bench"))
	signature, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	if err != nil {
		return nil, err
	}
	bare := func() error {
		if !ecdsa.VerifyASN1(&key.PublicKey, digest[:], signature) {
			return errors.New("signature does not verify")
		}
		return nil
	}
	verify := func(v *mandate.Verifier) func() error {
		return func() error {
			_, err := v.Verify(ctx, token.Reveal())
			return err
		}
	}
	keys := mandate.StaticKeys(public)
	cold := verify(&mandate.Verifier{Issuer: "https://pay.example", Keys: keys, CacheSize: -1})
	cached := verify(&mandate.Verifier{Issuer: "https://pay.example", Keys: keys})
	time500 := func(call func() error) func() (time.Duration, error) {
		return func() (time.Duration, error) { return each(500, call) }
	}
	coldRatio, err := pair(time500(bare), time500(cold))
	if err != nil {
		return nil, err
	}
	cachedRatio, err := pair(time500(cold), time500(cached))
	if err != nil {
		return nil, err
	}
	return []row{
		atLeast("verify, cold", "ES256 verify", coldRatio, 0.85),
		atLeast("verify, cached", "verify, cold", cachedRatio, 30),
	}, nil
}
