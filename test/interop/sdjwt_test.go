// Package interop_test holds our formats against other people's implementations.
package interop_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
)

// verdict is what the script found out about a token.
type verdict struct {
	Error   string         `json:"error"`
	Payload map[string]any `json:"payload"`
	Header  map[string]any `json:"header"`
	KB      map[string]any `json:"kb"`
}

const shopWallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

// TestTheirsVerifiesOurs: tokens, presentations and status lists of a running
// service, read by @sd-jwt/sd-jwt-vc.
func TestTheirsVerifiesOurs(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "node")
	srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{PayTo: shopWallet}})
	resp, err := http.Get(srv.URL + "/.well-known/jwks.json")
	require.NoError(t, err)
	jwks, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	judge := func(token, nonce string) (v verdict) {
		project.Run(t, "sdjwt.mjs", map[string]any{
			"do": "verify", "token": strings.TrimPrefix(token, mandate.Prefix), "jwks": json.RawMessage(jwks), "nonce": nonce,
		}, &v)
		return v
	}
	token := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 515, MaxMonthlySpendCents: 5000})
	v := judge(token, "")
	require.Empty(t, v.Error)
	require.Equal(t, "mandate.payment.open.1", v.Payload["vct"])
	require.Equal(t, map[string]any{
		"max_per_tx_cents": 515.0, "max_monthly_cents": 5000.0, "period": "calendar_month", "time_zone": "UTC", "currency": "USD",
	}, v.Payload["spending_limits"])

	made, err := srv.Client().CreatePresentation(t.Context(), token, client.PresentationParams{
		Audience: "https://api.example.com", Nonce: "ch_1", Amount: "0.01", PayTo: shopWallet, Network: "eip155:8453", Resource: "https://api.example.com/x",
	})
	require.NoError(t, err)
	v = judge(made.Presentation, "ch_1")
	require.Empty(t, v.Error)
	require.Equal(t, "https://api.example.com", v.KB["aud"])
	require.Equal(t, map[string]any{
		"amount_micros": 10_000.0, "pay_to": shopWallet, "network": "eip155:8453", "resource": "https://api.example.com/x",
	}, v.KB["transaction_data"])
	require.NotEmpty(t, judge(made.Presentation, "ch_2").Error)
	require.NotEmpty(t, judge(tampered(token), "").Error)

	_, err = srv.Client().Revoke(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, "Status is not valid", judge(token, "").Error)
}

// tampered changes a digit of the payload.
func tampered(token string) string {
	at := strings.Index(token, ".") + 40
	other := "A"
	if token[at:at+1] == other {
		other = "B"
	}
	return token[:at] + other + token[at+1:]
}

// TestOursVerifiesTheirs: @sd-jwt/sd-jwt-vc issues a mandate, hides payees, and
// binds a presentation that withholds one of them.
func TestOursVerifiesTheirs(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "node")
	issuer, holder := newKey(t), newKey(t)
	now := time.Now().Truncate(time.Second)
	terms := mandate.Terms{
		ID: "del_01JD7Q8XKQ2V5T9N3W6Y0ZB4CF", Limits: mandate.Limits{MaxPerTxCents: 515, MaxMonthlyCents: 5015},
		Payees: []mandate.Payee{{ID: "mer_1", Name: "Weather"}, {ID: "mer_2", Name: "Karten & Söhne", Website: "https://karten.example"}},
		Rails:  []mandate.Rail{mandate.CardRail}, IssuedAt: now, ExpiresAt: now.Add(time.Hour), SessionKey: public(t, holder),
	}
	const iss = "https://pay.example"
	own, err := (&mandate.Issuer{URL: iss, Signer: mandate.FixedSigner(issuer)}).Issue(t.Context(), terms)
	require.NoError(t, err)
	claims, err := base64.RawURLEncoding.DecodeString(strings.Split(own.Reveal(), ".")[1])
	require.NoError(t, err)
	kb := map[string]any{"iat": now.Unix(), "aud": "https://api.example.com", "nonce": "ch_1", "transaction_data": map[string]any{
		"amount_micros": 10_000, "pay_to": shopWallet, "network": "eip155:8453", "resource": "https://api.example.com/x",
	}}
	hidePayees := map[string]any{"constraints": map[string]any{"3": map[string]any{"allowed": map[string]any{"_sd": []int{0, 1}}}}}
	issue := func(more map[string]any) string {
		request := map[string]any{"do": "issue", "payload": json.RawMessage(claims), "issuer": private(t, issuer), "kid": public(t, issuer).ID(), "holder": private(t, holder)}
		for name, value := range more {
			request[name] = value
		}
		var answer struct{ Token, Error string }
		project.Run(t, "sdjwt.mjs", request, &answer)
		require.Empty(t, answer.Error)
		return answer.Token
	}
	v := mandate.Verifier{Issuer: iss, Keys: mandate.StaticKeys(public(t, issuer))}

	m, err := v.Verify(t.Context(), issue(nil))
	require.NoError(t, err)
	want, err := v.Verify(t.Context(), own.Reveal())
	require.NoError(t, err)
	require.Equal(t, want, m)

	m, err = v.Verify(t.Context(), issue(map[string]any{"frame": hidePayees}))
	require.NoError(t, err)
	require.Equal(t, terms.Payees, m.Payees, "all disclosures were sent")

	show := map[string]any{"constraints": map[string]any{"3": map[string]any{"allowed": map[string]any{"1": true}}}}
	text := issue(map[string]any{"frame": hidePayees, "show": show, "kb": kb})
	p, err := v.VerifyPresentation(t.Context(), text, mandate.Expect{Audience: "https://api.example.com", Nonce: "ch_1"})
	require.NoError(t, err)
	require.Equal(t, terms.Payees[1:], p.Mandate.Payees, "one was withheld")
	require.Equal(t, &mandate.TransactionData{AmountMicros: 10_000, PayTo: shopWallet, Network: "eip155:8453", Resource: "https://api.example.com/x"}, p.Transaction)
	_, err = v.VerifyPresentation(t.Context(), text, mandate.Expect{Audience: "https://api.example.com", Nonce: "ch_2"})
	require.ErrorIs(t, err, mandate.ErrInvalid)
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return k
}

func public(t *testing.T, k *ecdsa.PrivateKey) mandate.PublicKey {
	t.Helper()
	p, err := mandate.NewPublicKey(&k.PublicKey)
	require.NoError(t, err)
	return p
}

// private is the key as a JWK.
func private(t *testing.T, k *ecdsa.PrivateKey) map[string]any {
	t.Helper()
	text, err := public(t, k).MarshalJSON()
	require.NoError(t, err)
	var jwk map[string]any
	require.NoError(t, json.Unmarshal(text, &jwk))
	scalar, err := k.Bytes()
	require.NoError(t, err)
	jwk["d"] = base64.RawURLEncoding.EncodeToString(scalar)
	return jwk
}
