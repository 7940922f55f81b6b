package paywall_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

var nonces atomic.Int64

// transfer is a signed transfer with a nonce of its own. Its signature is not
// checked by the service of these tests unless it begins with 0xbad.
func (w *world) transfer(amount string) x402.Exact {
	now := w.clock.Now().Unix()
	return x402.Exact{Signature: "0x" + strings.Repeat("ab", 65), Authorization: x402.Authorization{
		From: payer, To: payTo, Value: amount, ValidAfter: strconv.FormatInt(now-600, 10), ValidBefore: strconv.FormatInt(now+60, 10),
		Nonce: fmt.Sprintf("0x%064x", nonces.Add(1)),
	}}
}

func encode(t testing.TB, v any) string {
	t.Helper()
	s, err := x402.EncodeHeader(v)
	require.NoError(t, err)
	return s
}

// payX402 answers the challenge of a gate in x402 version 2; change alters the payment.
func (w *world) payX402(g *paywall.Gate, change func(*x402.Payload)) string {
	w.t.Helper()
	asked, err := x402.DecodePaymentRequired(w.through(g).Header().Get("PAYMENT-REQUIRED"))
	require.NoError(w.t, err)
	p := x402.Payload{
		X402Version: 2, Resource: &asked.Resource, Accepted: asked.Accepts[0], Payload: w.transfer(asked.Accepts[0].Amount), Extensions: asked.Extensions,
	}
	if change != nil {
		change(&p)
	}
	return encode(w.t, p)
}

// payX402V1 answers in version 1.
func (w *world) payX402V1(g *paywall.Gate, change func(*x402.PayloadV1)) string {
	w.t.Helper()
	asked, err := x402.DecodePaymentRequiredV1(w.through(g).Body.Bytes())
	require.NoError(w.t, err)
	p := x402.PayloadV1{
		X402Version: 1, Scheme: "exact", Network: asked.Accepts[0].Network, Payload: w.transfer(asked.Accepts[0].MaxAmountRequired),
	}
	if change != nil {
		change(&p)
	}
	return encode(w.t, p)
}

// payMPP answers in the Payment scheme; change alters challenge and payload.
func (w *world) payMPP(g *paywall.Gate, change func(*mpp.Challenge, *mpp.AuthorizationPayload)) string {
	w.t.Helper()
	return w.credential(challengeOf(w.t, w.through(g)), payer, change)
}

func (w *world) credential(c mpp.Challenge, from string, change func(*mpp.Challenge, *mpp.AuthorizationPayload)) string {
	w.t.Helper()
	data, err := mpp.DecodeBase64(c.Request)
	require.NoError(w.t, err)
	var asked mpp.ChargeRequest
	require.NoError(w.t, json.Unmarshal(data, &asked))
	expires, err := c.ExpiresAt()
	require.NoError(w.t, err)
	p := mpp.AuthorizationPayload{
		Type: mpp.CredentialAuthorization, From: from, To: asked.Recipient, Value: asked.Amount, ValidAfter: "0",
		ValidBefore: strconv.FormatInt(expires.Unix(), 10), Nonce: c.Nonce(), Signature: "0x" + strings.Repeat("ab", 65),
	}
	if change != nil {
		change(&c, &p)
	}
	payload, err := json.Marshal(p)
	require.NoError(w.t, err)
	header, err := mpp.Credential{Challenge: c, Payload: payload}.Header()
	require.NoError(w.t, err)
	return header
}

// credential is one of the ways to pay that can be sent again.
type credential struct {
	header string
	path   string // of the service that settles it
	pay    func(w *world, g *paywall.Gate) string
	told   string // header of the answer
}

// transfers are the credentials that are a signed transfer, with a presentation
// beside them: each can be sent again and must be served once.
func credentials() map[string]credential {
	return map[string]credential{
		"x402 v2": {"PAYMENT-SIGNATURE", "/v1/x402/settle", func(w *world, g *paywall.Gate) string { return w.payX402(g, nil) }, "PAYMENT-RESPONSE"},
		"x402 v1": {"X-PAYMENT", "/v1/x402/settle", func(w *world, g *paywall.Gate) string { return w.payX402V1(g, nil) }, "X-PAYMENT-RESPONSE"},
		"mpp":     {"Authorization", "/v1/x402/settle", func(w *world, g *paywall.Gate) string { return w.payMPP(g, nil) }, "Payment-Receipt"},
		"presentation": {"X-Service-Mandate", "/v1/paywall/settle", func(w *world, _ *paywall.Gate) string {
			return w.service.present(w.service.mandate(nil), fmt.Sprint("challenge-", nonces.Add(1)), nil)
		}, "X-PAYMENT-RESPONSE"},
	}
}

// each runs a test with every credential, each in a world of its own.
func each(t *testing.T, change func(*paywall.Config), test func(t *testing.T, w *world, c credential)) {
	t.Helper()
	for name, c := range credentials() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, setup(t, change), c)
		})
	}
}

// requireRefusal checks what every refusal with a price has.
func requireRefusal(t testing.TB, rec *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	require.Equal(t, status, rec.Code, rec.Body.String())
	all := body(t, rec)
	require.Equal(t, code, all["code"])
	require.NotEmpty(t, all["message"])
	require.Equal(t, rec.Result().Header.Get("X-Request-Id"), all["requestId"])
	require.Equal(t, "no-store", rec.Result().Header.Get("Cache-Control"))
	two, err := x402.DecodePaymentRequired(rec.Result().Header.Get("PAYMENT-REQUIRED"))
	require.NoError(t, err)
	require.Equal(t, all["error"], two.Error)
	_, err = x402.DecodePaymentRequiredV1(rec.Body.Bytes())
	require.NoError(t, err)
	require.NotEmpty(t, challengeOf(t, rec).ID)
}

func TestEachCredentialIsSettledAndServed(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		rec := w.ask(c.header, c.pay(w, w.gate))
		require.Equal(t, 200, rec.Code, rec.Body.String())
		require.Equal(t, "sunny", rec.Body.String())
		h := rec.Result().Header
		require.NotEmpty(t, h.Get(c.told))
		require.Equal(t, "private", h.Get("Cache-Control"))
		require.NotEmpty(t, h.Get("Vary"))
		require.NotEmpty(t, h.Get("X-Request-Id"))
		require.Equal(t, []string{payer, transaction(1)}, []string{w.seen.Payer, w.seen.Transaction})
		require.EqualValues(t, 10_000, w.seen.AmountMicros)
		if c.told == "Payment-Receipt" {
			r, err := mpp.ParseReceipt(h.Get(c.told))
			require.NoError(t, err)
			require.Equal(t, mpp.Receipt{Method: "evm", Reference: transaction(1), Status: "success", Timestamp: w.clock.Now().UTC()}, r)
			return
		}
		s, err := x402.DecodeSettlement(h.Get(c.told))
		require.NoError(t, err)
		require.Equal(t, x402.Settlement{Success: true, Transaction: transaction(1), Network: w.seen.Network, Payer: payer}, s)
	})
}

func TestNetworkHasTheNameOfItsProtocol(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.ask("X-PAYMENT", w.payX402V1(w.gate, nil))
	require.Equal(t, "base-sepolia", w.seen.Network)
	w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, nil))
	require.Equal(t, "eip155:84532", w.seen.Network)
}

func TestWhatTheServiceGets(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.Merchant = paywall.Merchant{ID: "mer_1", APIKey: "sk_test_1"} })
	for _, c := range credentials() {
		require.Equal(t, 200, w.ask(c.header, c.pay(w, w.gate)).Code)
	}
	versions := map[float64]int{}
	for _, text := range w.service.requests {
		var got struct {
			X402Version         float64
			PaymentPayload      map[string]any
			PaymentRequirements map[string]any
		}
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		versions[got.X402Version]++
		if got.X402Version == 2 {
			require.Contains(t, got.PaymentPayload, "resource")
			require.Contains(t, got.PaymentPayload, "extensions", "or no directory can list it")
			require.Equal(t, "10000", got.PaymentRequirements["amount"])
		} else {
			require.Equal(t, "10000", got.PaymentRequirements["maxAmountRequired"])
		}
	}
	require.Equal(t, map[float64]int{1: 1, 2: 2}, versions)
}

func TestExternalFacilitatorNeverGetsTheMerchantsKey(t *testing.T) {
	t.Parallel()
	other := newService(t, newClock())
	w := setup(t, func(c *paywall.Config) {
		c.Merchant, c.ExternalFacilitator = paywall.Merchant{ID: "mer_1", APIKey: "sk_test_1"}, other.URL+"/v1/x402"
	})
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, nil)).Code)
	require.Equal(t, 1, other.count("/v1/x402/verify"))
	require.Equal(t, 1, other.count("/v1/x402/settle"))
	require.Empty(t, other.headers[0].Get("X-Service-Api-Key"))
	require.Zero(t, w.service.count("/v1/x402/settle"))
}

func TestTransfersThatAreRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	now := newClock().Now().Unix()
	for name, tc := range map[string]struct {
		change func(*x402.Authorization)
		reason x402.Reason
	}{
		"to somebody else": {func(a *x402.Authorization) { a.To = payer }, x402.ReasonRecipient},
		"too little":       {func(a *x402.Authorization) { a.Value = "9999" }, x402.ReasonValue},
		"not yet valid":    {func(a *x402.Authorization) { a.ValidAfter = strconv.FormatInt(now, 10) }, x402.ReasonValidAfter},
		"over":             {func(a *x402.Authorization) { a.ValidBefore = strconv.FormatInt(now, 10) }, x402.ReasonValidBefore},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, nil)
			two := w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, func(p *x402.Payload) { tc.change(&p.Payload.Authorization) }))
			requireRefusal(t, two, 402, string(tc.reason))
			one := w.ask("X-PAYMENT", w.payX402V1(w.gate, func(p *x402.PayloadV1) { tc.change(&p.Payload.Authorization) }))
			requireRefusal(t, one, 402, string(tc.reason))
			scheme := w.ask("Authorization", w.payMPP(w.gate, func(_ *mpp.Challenge, p *mpp.AuthorizationPayload) {
				a := x402.Authorization{To: p.To, Value: p.Value, ValidAfter: p.ValidAfter, ValidBefore: p.ValidBefore}
				tc.change(&a)
				p.To, p.Value, p.ValidAfter, p.ValidBefore = a.To, a.Value, a.ValidAfter, a.ValidBefore
			}))
			requireRefusal(t, scheme, 402, string(tc.reason))
			require.Contains(t, body(t, scheme)["type"], "https://paymentauth.org/problems/")
			require.Zero(t, w.service.count("/v1/x402/verify")+w.service.count("/v1/x402/settle"))
			require.Zero(t, w.served.Load())
		})
	}
}

func TestMorePaidThanAskedIsTakenByVersion1Alone(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	rec := w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, func(p *x402.Payload) { p.Payload.Authorization.Value = "10001" }))
	requireRefusal(t, rec, 402, string(x402.ReasonValue))
	require.Equal(t, 200, w.ask("X-PAYMENT", w.payX402V1(w.gate, func(p *x402.PayloadV1) { p.Payload.Authorization.Value = "10001" })).Code)
}

func TestAcceptedMustBeWhatWasOffered(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for name, tc := range map[string]struct {
		change func(*x402.Payload)
		reason x402.Reason
	}{
		"scheme":   {func(p *x402.Payload) { p.Accepted.Scheme = "later" }, x402.ReasonUnsupportedScheme},
		"network":  {func(p *x402.Payload) { p.Accepted.Network = "eip155:8453" }, x402.ReasonInvalidNetwork},
		"asset":    {func(p *x402.Payload) { p.Accepted.Asset = payer }, x402.ReasonInvalidRequirement},
		"payee":    {func(p *x402.Payload) { p.Accepted.PayTo = payer }, x402.ReasonInvalidRequirement},
		"amount":   {func(p *x402.Payload) { p.Accepted.Amount = "1" }, x402.ReasonInvalidRequirement},
		"name":     {func(p *x402.Payload) { p.Accepted.Extra["name"] = "USD Coin" }, x402.ReasonInvalidRequirement},
		"flow":     {func(p *x402.Payload) { delete(p.Accepted.Extra, "paymentFlow") }, x402.ReasonInvalidRequirement},
		"resource": {func(p *x402.Payload) { p.Resource = &x402.Resource{URL: "https://api.example.com/other"} }, x402.ReasonInvalidRequirement},
	} {
		requireRefusal(t, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, tc.change)), 402, string(tc.reason))
		_ = name
	}
	requireRefusal(t, w.ask("X-PAYMENT", w.payX402V1(w.gate, func(p *x402.PayloadV1) { p.Network = "base" })), 402, string(x402.ReasonInvalidNetwork))
	requireRefusal(t, w.ask("X-PAYMENT", w.payX402V1(w.gate, func(p *x402.PayloadV1) { p.Scheme = "upto" })), 402, string(x402.ReasonUnsupportedScheme))
	require.Zero(t, w.service.moved())
}

func TestMalformedCredentialsFollowTheirProtocol(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for name, tc := range map[string]struct {
		header, value string
		status        int
		code          string
	}{
		"v2, not base64":          {"PAYMENT-SIGNATURE", "%%%", 400, "malformed_credential"},
		"v2, too long":            {"PAYMENT-SIGNATURE", strings.Repeat("A", 20<<10), 400, "malformed_credential"},
		"v2, of version 1":        {"PAYMENT-SIGNATURE", w.payX402V1(w.gate, nil), 400, "malformed_credential"},
		"v2, short identifier":    {"PAYMENT-SIGNATURE", w.payX402(w.gate, identifier("short")), 400, "malformed_credential"},
		"v1, not JSON":            {"X-PAYMENT", "AAAA", 400, "malformed_credential"},
		"v1, of version 2":        {"X-PAYMENT", w.payX402(w.gate, nil), 400, "malformed_credential"},
		"mpp, garbage":            {"Authorization", "Payment dGhpcyBpcyBnYXJiYWdl", 402, "malformed_credential"},
		"mpp, bundle unsupported": {"X-Bundle-Token", "abc", 402, "bundle_unsupported"},
	} {
		rec := w.ask(tc.header, tc.value)
		requireRefusal(t, rec, tc.status, tc.code)
		if tc.header == "Authorization" {
			require.Equal(t, string(mpp.ProblemMalformedCredential), body(t, rec)["type"], name)
		}
	}
	require.Zero(t, w.service.count("/v1/x402/settle"))
}

func identifier(id string) func(*x402.Payload) {
	return func(p *x402.Payload) {
		e := p.Extensions[x402.ExtensionIdentifier]
		e.Info = json.RawMessage(fmt.Sprintf(`{"id":%q}`, id))
		p.Extensions = map[string]x402.Extension{x402.ExtensionIdentifier: e}
	}
}

func TestChallengesThatAreRefused(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	cheap := w.gate.With(paywall.Route{Price: "0.001", Resource: resource})
	other := w.newGate(func(c *paywall.Config) { c.Secrets = []string{"another secret of sixteen bytes"} })
	realm := w.gate.With(paywall.Route{Resource: "https://other.example.com/weather"})
	old, expired := w.payMPP(w.gate, nil), challengeOf(t, w.ask())
	w.clock.Advance(61 * time.Second)
	for name, tc := range map[string]struct {
		value   string
		status  int
		problem mpp.ProblemType
	}{
		"another method": {w.payMPP(w.gate, func(c *mpp.Challenge, _ *mpp.AuthorizationPayload) { c.Method = "tempo" }), 400, mpp.ProblemMethodUnsupported},
		"another intent": {w.payMPP(w.gate, func(c *mpp.Challenge, _ *mpp.AuthorizationPayload) { c.Intent = "session" }), 400, mpp.ProblemMethodUnsupported},
		"changed expiry": {w.payMPP(w.gate, func(c *mpp.Challenge, _ *mpp.AuthorizationPayload) { c.Expires = "2030-01-01T00:00:00Z" }), 402, mpp.ProblemInvalidChallenge},
		"another secret": {w.payMPP(other, nil), 402, mpp.ProblemInvalidChallenge},
		"another realm":  {w.payMPP(realm, nil), 402, mpp.ProblemInvalidChallenge},
		"of a cheap one": {w.payMPP(cheap, nil), 402, mpp.ProblemPaymentInsufficient},
		"expired":        {old, 402, mpp.ProblemPaymentExpired},
		"expired, signed for longer": {w.credential(expired, payer, func(_ *mpp.Challenge, p *mpp.AuthorizationPayload) {
			p.ValidBefore = strconv.FormatInt(w.clock.Now().Add(time.Hour).Unix(), 10)
		}), 402, mpp.ProblemPaymentExpired},
		"another nonce":   {w.payMPP(w.gate, func(_ *mpp.Challenge, p *mpp.AuthorizationPayload) { p.Nonce = transaction(9) }), 402, mpp.ProblemVerificationFailed},
		"another payload": {w.payMPP(w.gate, func(_ *mpp.Challenge, p *mpp.AuthorizationPayload) { p.Type = "hash" }), 402, mpp.ProblemMalformedCredential},
		"a bad address":   {w.payMPP(w.gate, func(_ *mpp.Challenge, p *mpp.AuthorizationPayload) { p.From = "0x1" }), 402, mpp.ProblemMalformedCredential},
		"bad signature":   {w.payMPP(w.gate, func(_ *mpp.Challenge, p *mpp.AuthorizationPayload) { p.Signature = "0xbad0" }), 402, mpp.ProblemVerificationFailed},
	} {
		rec := w.ask("Authorization", tc.value)
		require.Equal(t, tc.status, rec.Code, name)
		all := body(t, rec)
		require.Equal(t, string(tc.problem), all["type"], name)
		require.InDelta(t, tc.status, all["status"], 0, name)
		require.NotEmpty(t, all["title"], name)
		require.NotEmpty(t, challengeOf(t, rec).ID, name)
	}
	require.Zero(t, w.service.moved())
	require.Zero(t, w.served.Load())
}

func TestRefusedSettlementIsToldInItsHeader(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	two := w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, func(p *x402.Payload) { p.Payload.Signature = "0xbad0" }))
	requireRefusal(t, two, 402, string(x402.ReasonSignature))
	s, err := x402.DecodeSettlement(two.Result().Header.Get("PAYMENT-RESPONSE"))
	require.NoError(t, err)
	require.Equal(t, x402.Settlement{ErrorReason: x402.ReasonSignature, Network: "eip155:84532"}, s)
	require.Zero(t, w.service.count("/v1/x402/settle"), "verified first")

	one := w.ask("X-PAYMENT", w.payX402V1(w.gate, func(p *x402.PayloadV1) { p.Payload.Signature = "0xbad0" }))
	requireRefusal(t, one, 402, string(x402.ReasonSignature))
	s, err = x402.DecodeSettlement(one.Result().Header.Get("X-PAYMENT-RESPONSE"))
	require.NoError(t, err)
	require.Equal(t, "base-sepolia", s.Network)
}

func TestPaymentAuthorizationIsTakenBesideAuthorization(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	require.Equal(t, 200, w.ask("Authorization", "Bearer of the application", "Payment-Authorization", w.payMPP(w.gate, nil)).Code)
	require.Equal(t, 402, w.ask("Authorization", "Bearer of the application").Code)
}

func TestSecretsRotateWhileChallengesAreOut(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	paid := w.payMPP(w.gate, nil)
	next := w.newGate(func(c *paywall.Config) { c.Secrets = []string{"the next secret, sixteen bytes", secret} })
	require.Equal(t, 200, w.through(next, "Authorization", paid).Code)
}
