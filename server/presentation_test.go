package server_test

import (
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

const (
	shopWallet   = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
	agentsWallet = "0x1111111111111111111111111111111111111111"
)

// market is a service with an agent's merchant, who creates the mandates, and a
// shop that is a stranger to it.
type market struct {
	caller

	shop server.Merchant
}

func openMarket(t *testing.T) market {
	t.Helper()
	return openMarketOn(t, onSQLite)
}

func openMarketOn(t *testing.T, kind engine) market {
	t.Helper()
	c := setup(t, &servertest.Options{Store: kind.open, Merchant: server.MerchantParams{Name: "Agent", PayTo: agentsWallet}})
	shop, err := c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Shop", PayTo: shopWallet})
	require.NoError(t, err)
	return market{c, shop}
}

// mandateFor allows payees: their ids, or "*".
func (m market) mandateFor(t *testing.T, payees ...string) string {
	t.Helper()
	return m.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, AllowedMerchantIDs: payees})
}

// purchase is what a presentation is made for and settled with.
func purchase() client.PresentationParams {
	return client.PresentationParams{
		Audience: "https://api.example.com", Nonce: "challenge-1", Amount: "0.75", PayTo: shopWallet, Network: "eip155:84532",
		Resource: "https://api.example.com/weather?city=Bern",
	}
}

func (m market) present(t *testing.T, token string, p client.PresentationParams) string {
	t.Helper()
	made, err := m.Client().CreatePresentation(t.Context(), token, p)
	require.NoError(t, err)
	return made.Presentation
}

func (m market) settle(t *testing.T, presentation string, p client.PresentationParams, key string) answer {
	t.Helper()
	body, err := json.Marshal(client.PaywallSettlementParams{
		Mandate: presentation, Price: p.Amount, PayTo: p.PayTo, Network: p.Network, Resource: p.Resource, ChallengeID: p.Nonce, IdempotencyKey: key,
	})
	require.NoError(t, err)
	nobody := m.caller
	nobody.merchant = server.Merchant{}
	return nobody.do(t, "POST", "/v1/paywall/settle", string(body))
}

func (m market) spent(t *testing.T, token string) int {
	t.Helper()
	return m.do(t, "GET", "/v1/mandates/"+token+"/balance", "").ok(t).int("currentMonthlySpendCents")
}

func TestPresentationPaysOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			paysOnce(t, openMarketOn(t, kind))
		})
	}
}

func paysOnce(t *testing.T, m market) {
	t.Helper()
	token := m.mandateFor(t, "*")
	p := purchase()
	made := m.present(t, token, p)

	v := mandate.Verifier{Issuer: m.URL, Keys: mandate.RemoteKeys(m.URL + "/.well-known/jwks.json"), Clock: m.Clock.Now}
	seen, err := v.VerifyPresentation(t.Context(), made, mandate.Expect{Audience: p.Audience, Nonce: p.Nonce})
	require.NoError(t, err)
	require.Equal(t, mandate.TransactionData{AmountMicros: 750_000, PayTo: p.PayTo, Network: p.Network, Resource: p.Resource}, *seen.Transaction)
	require.Equal(t, 5*time.Minute, seen.ExpiresAt.Sub(seen.IssuedAt))

	first := m.settle(t, made, p, "k").ok(t)
	require.Equal(t, true, first.Body["success"], first.Text)
	require.Equal(t, "card", first.str("network"))
	again := m.settle(t, made, p, "k").ok(t)
	require.Equal(t, first.Text, again.Text)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	used := m.settle(t, made, p, "another key").refused(t, 403, "mandate_invalid")
	require.Contains(t, used.str("message"), "settled before")
	remade := m.present(t, token, p) // for the same challenge
	require.Equal(t, first.Text, m.settle(t, remade, p, "k").ok(t).Text)
	m.settle(t, remade, p, "another key").refused(t, 403, "mandate_invalid")

	m.Clock.Advance(time.Hour)
	require.Equal(t, first.Text, m.settle(t, made, p, "k").ok(t).Text, "what became of it is told after it expired, too")
	p.Nonce = "challenge-2"
	late := m.present(t, token, p)
	m.Clock.Advance(10 * time.Minute)
	require.Contains(t, m.settle(t, late, p, "k2").refused(t, 403, "mandate_invalid").str("message"), "expired")
	require.Equal(t, 75, m.spent(t, token))
	m.sound(t, 1)
}

// TestIdempotencyKeyReusedForAnotherChallenge: a key pays once, also where each
// retry brings a presentation for another challenge.
func TestIdempotencyKeyReusedForAnotherChallenge(t *testing.T) {
	t.Parallel()
	m := openMarket(t)
	token := m.mandateFor(t, m.shop.ID)
	p := purchase()
	first := m.settle(t, m.present(t, token, p), p, "k").ok(t)
	require.Equal(t, true, first.Body["success"], first.Text)
	next := p
	next.Nonce = "challenge-2"
	m.settle(t, m.present(t, token, next), next, "k").refused(t, 422, "idempotency_mismatch")
	m.settle(t, token, p, "k").refused(t, 422, "idempotency_mismatch") // nor with the mandate itself
	require.Equal(t, 75, m.spent(t, token))
	m.settle(t, m.present(t, token, next), next, "another").ok(t)
	require.Equal(t, 150, m.spent(t, token))
	m.sound(t, 2)
}

// TestOnePresentationManySettlements: however many ask at once, one is paid.
func TestOnePresentationManySettlements(t *testing.T) {
	t.Parallel()
	m := openMarket(t)
	token := m.mandateFor(t, "*")
	made := m.present(t, token, purchase())
	var paid atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if m.settle(t, made, purchase(), strings.Repeat("k", i+1)).Status == 200 {
				paid.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, paid.Load())
	m.sound(t, 1)
}

func TestPresentationForAnotherPaymentIsRefused(t *testing.T) {
	t.Parallel()
	m := openMarket(t)
	token := m.mandateFor(t, "*")
	made := m.present(t, token, purchase())
	for name, tc := range map[string]struct {
		change func(*client.PresentationParams)
		says   string
	}{
		"audience": {func(p *client.PresentationParams) { p.Resource = "https://evil.example/weather?city=Bern" }, "another audience"},
		"nonce":    {func(p *client.PresentationParams) { p.Nonce = "challenge-2" }, "another challenge"},
		"no nonce": {func(p *client.PresentationParams) { p.Nonce = "" }, "challengeId is missing"},
		"price":    {func(p *client.PresentationParams) { p.Amount = "0.76" }, "price differs"},
		"cheaper":  {func(p *client.PresentationParams) { p.Amount = "0.74" }, "price differs"},
		"payee":    {func(p *client.PresentationParams) { p.PayTo = agentsWallet }, "payTo differs"},
		"network":  {func(p *client.PresentationParams) { p.Network = "eip155:8453" }, "network differs"},
		"resource": {func(p *client.PresentationParams) { p.Resource += "n" }, "resource differs"},
	} {
		p := purchase()
		tc.change(&p)
		require.Contains(t, m.settle(t, made, p, "k").refused(t, 403, "mandate_invalid").str("message"), tc.says, name)
	}
	require.Equal(t, true, m.settle(t, made, purchase(), "k").ok(t).Body["success"], "and none of them used it up")
}

// TestAPresentationIsWorthNothingElsewhere: a shop that is shown one can take
// neither it nor the mandate in it for anything else.
func TestAPresentationIsWorthNothingElsewhere(t *testing.T) {
	t.Parallel()
	m := openMarket(t)
	token := m.mandateFor(t, "*")
	made := m.present(t, token, purchase())
	shop := m.caller
	shop.merchant = m.shop
	cut := made[:strings.LastIndex(made, "~")+1]
	asking, err := json.Marshal(purchase())
	require.NoError(t, err)
	for name, text := range map[string]string{"whole": made, "cut": cut} {
		shop.charge(t, text, 100, "steal-"+name).refused(t, 403, "mandate_invalid")
		shop.do(t, "POST", "/v1/mandates/"+text+"/presentations", string(asking)).refused(t, 403, "mandate_invalid")
		shop.do(t, "GET", "/v1/mandates/"+text+"/balance", "").refused(t, 403, "mandate_invalid")
		shop.do(t, "POST", "/v1/mandates/"+text+"/revoke", "").refused(t, 403, "mandate_invalid")
	}
	m.settle(t, cut, purchase(), "cut").refused(t, 403, "mandate_invalid")
	m.settle(t, cut+".e30.AAAA", purchase(), "malformed").refused(t, 400, "validation_error")
	other := m.present(t, m.mandateFor(t, "*"), purchase())
	m.settle(t, cut+other[strings.LastIndex(other, "~")+1:], purchase(), "another's binding").refused(t, 403, "mandate_invalid")
	require.Zero(t, m.spent(t, token))
}

// TestBareMandateMustNameThePayee, a presentation need not.
func TestBareMandateMustNameThePayee(t *testing.T) {
	t.Parallel()
	m := openMarket(t)
	p := purchase()
	wild, named := m.mandateFor(t, "*"), m.mandateFor(t, m.shop.ID)
	m.settle(t, wild, p, "bare wild").refused(t, 403, "merchant_not_allowed")
	require.Equal(t, true, m.settle(t, named, p, "bare named").ok(t).Body["success"])
	require.Equal(t, true, m.settle(t, m.present(t, wild, p), p, "wild").ok(t).Body["success"])
	p.Nonce = "other"
	require.Equal(t, true, m.settle(t, m.present(t, named, p), p, "named").ok(t).Body["success"])

	p.PayTo = "0x2222222222222222222222222222222222222222" // of no merchant here: a card cannot pay it
	m.settle(t, m.present(t, wild, p), p, "stranger").refused(t, 402, "rail_unavailable")
	cheap := purchase()
	cheap.Amount, cheap.Nonce = "0.01", "cheap"
	require.Equal(t, true, m.settle(t, m.present(t, wild, cheap), cheap, "cheap").ok(t).Body["success"], "from a tab")
}

func TestPresentationsThatAreNotMade(t *testing.T) {
	t.Parallel()
	m := openMarket(t)
	wild := m.mandateFor(t, "*")
	ask := func(c caller, token string, change func(p map[string]any)) answer {
		var p map[string]any
		text, err := json.Marshal(purchase())
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &p))
		change(p)
		text, err = json.Marshal(p)
		require.NoError(t, err)
		return c.do(t, "POST", "/v1/mandates/"+token+"/presentations", string(text))
	}
	asIs := func(map[string]any) {}
	for param, bad := range map[string][]any{
		"audience": {"", "https://evil.example", "https://api.example.com/"}, "nonce": {"", "a b", strings.Repeat("n", 257)},
		"amount": {"", "0", "1e2", "0.0000001"}, "payTo": {"", "0x12"}, "network": {"", strings.Repeat("n", 65)},
		"resource": {"", "api.example.com", "ftp://api.example.com/x", "https://u:p@api.example.com/"}, "expiresInSeconds": {-1, 301, "60"},
	} {
		for _, value := range bad {
			a := ask(m.caller, wild, func(p map[string]any) { p[param] = value }).refused(t, 400, "validation_error")
			require.Equal(t, param, a.str("param"), value)
		}
	}
	require.Equal(t, 500, ask(m.caller, wild, func(p map[string]any) { p["amount"] = "5.000001" }).refused(t, 402, "per_tx").int("limitCents"))
	ask(m.caller, m.mandateFor(t, m.Merchant.ID), asIs).refused(t, 403, "merchant_not_allowed")
	ask(m.caller, "dtok_garbage", asIs).refused(t, 400, "validation_error")

	shop := m.caller
	shop.merchant = m.shop
	mandateID := m.do(t, "GET", "/v1/mandates/"+wild+"/balance", "").ok(t).str("delegateId")
	ask(m.caller, mandateID, asIs).ok(t)
	ask(shop, wild, asIs).ok(t)
	require.Equal(t, "intentMandate", ask(shop, mandateID, asIs).refused(t, 400, "validation_error").str("param"))
	ask(shop, m.mandateFor(t, m.Merchant.ID), asIs).refused(t, 404, "not_found")

	m.do(t, "POST", "/v1/mandates/"+mandateID+"/revoke", "").ok(t)
	ask(m.caller, wild, asIs).refused(t, 403, "mandate_revoked")
	short := m.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000, AllowedMerchantIDs: []string{"*"}, ExpiresAt: m.Clock.Now().Add(time.Hour)})
	made := m.present(t, short, purchase())
	m.Clock.Advance(time.Hour)
	ask(m.caller, short, asIs).refused(t, 403, "mandate_expired")
	m.settle(t, made, purchase(), "k").refused(t, 403, "mandate_invalid") // the presentation is older still
}
