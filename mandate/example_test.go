package mandate_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/mandate"
)

var exampleTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// exampleKeys returns an issuer's key and a mandate's session key.
func exampleKeys() (issuer, session *ecdsa.PrivateKey) {
	issuer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	session, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		log.Fatal(err)
	}
	return issuer, session
}

func exampleMandate(issuer, session *ecdsa.PrivateKey) mandate.Token {
	sessionKey, err := mandate.NewPublicKey(&session.PublicKey)
	if err != nil {
		log.Fatal(err)
	}
	i := mandate.Issuer{URL: "https://pay.example", Signer: mandate.FixedSigner(issuer)}
	token, err := i.Issue(context.Background(), mandate.Terms{
		ID:         "del_01JD7Q8XKQ2V5T9N3W6Y0ZB4CF",
		Limits:     mandate.Limits{MaxPerTxCents: 500, MaxMonthlyCents: 5000},
		Payees:     []mandate.Payee{{ID: "mer_01JD7Q8XKQ2V5T9N3W6Y0ZB4CG", Name: "Weather"}},
		Rails:      []mandate.Rail{mandate.ChainRail},
		IssuedAt:   exampleTime,
		ExpiresAt:  exampleTime.AddDate(1, 0, 0),
		SessionKey: sessionKey,
	})
	if err != nil {
		log.Fatal(err)
	}
	return token
}

func Example() {
	v := mandate.Verifier{Issuer: "https://pay.example", Keys: mandate.RemoteKeys("https://pay.example/.well-known/jwks.json")}
	_, err := v.Verify(context.Background(), "dtok_hello")
	fmt.Println(errors.Is(err, mandate.ErrMalformed))
	// Output: true
}

func ExampleVerifier_Verify() {
	issuer, session := exampleKeys()
	key, err := mandate.NewPublicKey(&issuer.PublicKey)
	if err != nil {
		log.Fatal(err)
	}
	v := mandate.Verifier{Issuer: "https://pay.example", Keys: mandate.StaticKeys(key), Clock: func() time.Time { return exampleTime }}
	m, err := v.Verify(context.Background(), exampleMandate(issuer, session).Reveal())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.ID, m.Limits.MaxPerTxCents, m.Payees[0].Name, m.Rails)
	err = m.Precheck(mandate.Payment{AmountMicros: 6_000_000, Payee: m.Payees[0].ID, Rail: mandate.ChainRail}, exampleTime)
	fmt.Println(errors.Is(err, mandate.ErrPerTxLimit), err)
	// Output:
	// del_01JD7Q8XKQ2V5T9N3W6Y0ZB4CF 500 Weather [chainrail]
	// true mandate: per_tx
}

// Issue signs a mandate with the issuer's current key.
func ExampleIssuer_Issue() {
	issuer, session := exampleKeys()
	sessionKey, err := mandate.NewPublicKey(&session.PublicKey)
	if err != nil {
		log.Fatal(err)
	}
	i := mandate.Issuer{URL: "https://pay.example", Signer: mandate.FixedSigner(issuer)}
	token, err := i.Issue(context.Background(), mandate.Terms{
		ID:     "del_01JD7Q8XKQ2V5T9N3W6Y0ZB4CF",
		Limits: mandate.Limits{MaxPerTxCents: 500, MaxMonthlyCents: 5000},
		Payees: []mandate.Payee{mandate.AnyPayee()}, Rails: []mandate.Rail{mandate.CardRail},
		IssuedAt: exampleTime, ExpiresAt: exampleTime.AddDate(1, 0, 0), SessionKey: sessionKey,
	})
	fmt.Println(token, err)
	// Output: dtok_[redacted] <nil>
}

// ParseToken checks the form only. The Token can be logged without revealing its text.
func ExampleParseToken() {
	text := exampleMandate(exampleKeys()).Reveal()
	token, err := mandate.ParseToken(text)
	fmt.Println(token, err)
	_, err = mandate.ParseToken("dtok_hello")
	fmt.Println(err)
	// Output:
	// dtok_[redacted] <nil>
	// mandate: bad_format
}

func ExampleToken() {
	token := exampleMandate(exampleKeys())
	fmt.Printf("%v %s\n", token, token)
	// Output: dtok_[redacted] dtok_[redacted]
}

func ExamplePresent() {
	issuer, session := exampleKeys()
	presentation, err := mandate.Present(exampleMandate(issuer, session), session, mandate.Binding{
		Audience: "https://api.example.com", Nonce: "ch_1", IssuedAt: exampleTime,
		Transaction: mandate.TransactionData{AmountMicros: 10_000, PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", Network: "base", Resource: "https://api.example.com/weather"},
	})
	if err != nil {
		log.Fatal(err)
	}
	key, err := mandate.NewPublicKey(&issuer.PublicKey)
	if err != nil {
		log.Fatal(err)
	}
	v := mandate.Verifier{Issuer: "https://pay.example", Keys: mandate.StaticKeys(key), Clock: func() time.Time { return exampleTime }}
	p, err := v.VerifyPresentation(context.Background(), presentation.Reveal(), mandate.Expect{Audience: "https://api.example.com", Nonce: "ch_1"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Mandate.Bound, p.Transaction.AmountMicros, p.Transaction.Network)
	// Output: true 10000 base
}

// A verifier with a status source refuses a revoked mandate.
func ExampleStatusList() {
	list, err := mandate.NewStatusList(1000)
	if err != nil {
		log.Fatal(err)
	}
	if err := list.Revoke(7); err != nil {
		log.Fatal(err)
	}
	revoked, err := list.Revoked(7)
	fmt.Println(list.Len(), revoked, err)
	// Output: 1000 true <nil>
}

func ExampleKeySet() {
	issuer, _ := exampleKeys()
	key, err := mandate.NewPublicKey(&issuer.PublicKey)
	if err != nil {
		log.Fatal(err)
	}
	keys, err := mandate.NewKeySet(mandate.Key{PublicKey: key, State: mandate.KeyCurrent})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/.well-known/jwks.json", keys.Handler())
	fmt.Println(len(keys.Keys()))
	// Output: 1
}
