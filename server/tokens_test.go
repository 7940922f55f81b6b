package server_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// token creates an access token of the merchant.
func (c caller) token(t *testing.T, p client.AccessTokenParams) client.AccessToken {
	t.Helper()
	made, err := c.ClientOf(t, c.merchant).CreateAccessToken(t.Context(), p)
	require.NoError(t, err)
	return made
}

// agent sends a request with an access token alone.
func (c caller) agent(t *testing.T, token, method, path, body string) answer {
	t.Helper()
	c.merchant = server.Merchant{}
	return c.do(t, method, path, body, "Authorization", "Bearer "+token)
}

// mandateID returns the id of a mandate.
func (c caller) mandateID(t *testing.T, mandate string) string {
	t.Helper()
	return c.do(t, "GET", "/v1/mandates/"+mandate+"/balance", "").ok(t).str("delegateId")
}

// permitted lists the routes that an access token opens, by its scope.
var permitted = map[string]client.Scope{
	"POST /v1/mandates":                               client.ScopePay,
	"GET /v1/mandates/session/{sessionToken}":         client.ScopePay,
	"GET /v1/mandates/{intentMandate}/balance":        client.ScopeBalance,
	"POST /v1/mandates/{intentMandate}/revoke":        client.ScopeRevoke,
	"POST /v1/delegates/{delegateToken}/revoke":       client.ScopeRevoke,
	"POST /v1/mandates/{intentMandate}/presentations": client.ScopePay,
	"POST /v1/mandates/{intentMandate}/credentials":   client.ScopePay,
	"POST /v1/mandates/{intentMandate}/sweep":         client.ScopeRevoke,
	"POST /v1/payments/charge":                        client.ScopePay,
}

// public lists the routes that need no credentials, and so no scope of an access token.
var public = []string{
	"POST /v1/paywall/settle", "GET /v1/x402/supported", "POST /v1/x402/verify", "POST /v1/x402/settle", "POST /v1/x402/verify-receipt",
	"GET /.well-known/jwks.json", "GET /status-lists/{list}", "GET /v1/market", "GET /v1/x402/discovery/resources",
}

// routes returns every documented route. A test of openapi.json holds the document against
// the table of routes.
func routes(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("internal/api/openapi.json")
	require.NoError(t, err)
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	var all []string
	for path, methods := range doc.Paths {
		for method := range methods {
			all = append(all, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(all)
	return all
}

func TestAnAccessTokenOpensOnlyTheRoutesOfItsScopes(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	full := c.token(t, client.AccessTokenParams{}).Token
	only := map[client.Scope]string{}
	for _, s := range client.Scopes() {
		only[s] = c.token(t, client.AccessTokenParams{Scopes: []client.Scope{s}}).Token
	}
	seen := map[string]bool{}
	for _, route := range routes(t) {
		method, pattern, _ := strings.Cut(route, " ")
		seen[route] = true
		if slices.Contains(public, route) || strings.HasPrefix(pattern, "/v1/test_helpers/") {
			continue
		}
		path := placeholders.Replace(pattern)
		body := ""
		if method == "POST" {
			body = "{}"
		}
		scope, ok := permitted[route]
		if !ok {
			e := c.agent(t, full, method, path, body).refused(t, 403, "insufficient_scope")
			require.Empty(t, e.str("scope"), route)
			require.Equal(t, `Bearer realm="merchant", error="insufficient_scope"`, e.Header.Get("WWW-Authenticate"), route)
			continue
		}
		require.NotContains(t, []int{401, 403}, c.agent(t, full, method, path, body).Status, route)
		for _, other := range client.Scopes() {
			if other == scope {
				require.NotContains(t, []int{401, 403}, c.agent(t, only[other], method, path, body).Status, route)
				continue
			}
			e := c.agent(t, only[other], method, path, body).refused(t, 403, "insufficient_scope")
			require.Equal(t, string(scope), e.str("scope"), route)
			require.Contains(t, e.Header.Get("WWW-Authenticate"), `scope="`+string(scope)+`"`, route)
		}
	}
	for _, route := range slices.Concat(slices.Collect(maps.Keys(permitted)), public) {
		require.True(t, seen[route], "%s is not a route any more", route)
	}
}

var placeholders = strings.NewReplacer(
	"{sessionToken}", "sess_none", "{intentMandate}", "del_01JDZ8Y5TT6S8V3PB2N6C9XQ4R", "{delegateToken}", "del_01JDZ8Y5TT6S8V3PB2N6C9XQ4R",
	"{transactionId}", "txn_01JDZ8Y5TT6S8V3PB2N6C9XQ4R", "{refundId}", "rfd_01JDZ8Y5TT6S8V3PB2N6C9XQ4R", "{tabId}", "tab_01JDZ8Y5TT6S8V3PB2N6C9XQ4R",
	"{endpointId}", "whe_01JDZ8Y5TT6S8V3PB2N6C9XQ4R", "{eventId}", "evt_01JDZ8Y5TT6S8V3PB2N6C9XQ4R", "{checkoutId}", "chk_01JDZ8Y5TT6S8V3PB2N6C9XQ4R",
	"{id}", "tok_01JDZ8Y5TT6S8V3PB2N6C9XQ4R",
)

func TestATokenCannotHoldRedeemOrEscapeThroughPublicRoutes(t *testing.T) {
	t.Parallel()
	m := openMarket(t)
	token := m.token(t, client.AccessTokenParams{}).Token
	p := purchase()
	p.PayTo = agentsWallet
	presentation := m.present(t, m.mandateFor(t, m.merchant.ID), p)
	hold := `{"mandate":"` + presentation + `","price":"0.75","payTo":"` + agentsWallet + `","network":"` + p.Network + `","resource":"` + p.Resource + `","challengeId":"challenge-1","idempotencyKey":"k","metered":true}`
	m.agent(t, token, "POST", "/v1/paywall/settle", hold).refused(t, 403, "insufficient_scope")
	redeem := `{"receipt":"eyJzdWNjZXNzIjp0cnVlLCJ0cmFuc2FjdGlvbiI6IjB4MSIsIm5ldHdvcmsiOiJlaXAxNTU6ODQ1MzIifQ==","resource":"https://a.example/","payTo":"` + agentsWallet + `","amount":"0.01","redeem":true}`
	m.agent(t, token, "POST", "/v1/x402/verify-receipt", redeem).refused(t, 403, "insufficient_scope")
}

func TestATokenOfAMandateTouchesOnlyThatMandate(t *testing.T) {
	t.Parallel()
	m := openMarket(t)
	mine, other := m.mandateFor(t, "*"), m.mandateFor(t, "*")
	mineID, otherID := m.mandateID(t, mine), m.mandateID(t, other)
	bound := m.token(t, client.AccessTokenParams{Mandate: mine, Name: "shopping"})
	require.Equal(t, mineID, bound.MandateID)
	present, err := json.Marshal(purchase())
	require.NoError(t, err)
	for _, foreign := range []string{other, otherID, "del_01JDZ8Y5TT6S8V3PB2N6C9XQ4R", "dtok_garbage"} {
		m.agent(t, bound.Token, "GET", "/v1/mandates/"+foreign+"/balance", "").refused(t, 403, "insufficient_scope")
		m.agent(t, bound.Token, "POST", "/v1/mandates/"+foreign+"/revoke", "").refused(t, 403, "insufficient_scope")
		m.agent(t, bound.Token, "POST", "/v1/delegates/"+foreign+"/revoke", "").refused(t, 403, "insufficient_scope")
		m.agent(t, bound.Token, "POST", "/v1/mandates/"+foreign+"/presentations", string(present)).refused(t, 403, "insufficient_scope")
		m.agent(t, bound.Token, "POST", "/v1/payments/charge", chargeBody(foreign, 100, "k")).refused(t, 403, "insufficient_scope")
	}
	session := m.do(t, "POST", "/v1/mandates", `{"maxPerTxCents":1,"maxMonthlySpendCents":1}`).ok(t).str("sessionToken")
	m.agent(t, bound.Token, "GET", "/v1/mandates/session/"+session, "").refused(t, 403, "insufficient_scope")
	m.agent(t, bound.Token, "POST", "/v1/mandates", `{"maxPerTxCents":1,"maxMonthlySpendCents":1}`).refused(t, 403, "insufficient_scope")
	require.Zero(t, m.spent(t, other))

	for _, own := range []string{mine, mineID} {
		m.agent(t, bound.Token, "GET", "/v1/mandates/"+own+"/balance", "").ok(t)
		m.agent(t, bound.Token, "POST", "/v1/mandates/"+own+"/presentations", string(present)).ok(t)
		m.agent(t, bound.Token, "POST", "/v1/payments/charge", chargeBody(own, 100, own[:5])).ok(t)
	}
	require.Equal(t, 200, m.spent(t, mine))
	m.agent(t, bound.Token, "POST", "/v1/mandates/"+mineID+"/revoke", "").ok(t)
	m.agent(t, bound.Token, "POST", "/v1/payments/charge", chargeBody(mineID, 100, "late")).refused(t, 403, "mandate_revoked")
}

func TestATokenOfAnotherMerchantReachesNothing(t *testing.T) {
	t.Parallel()
	m := openMarket(t)
	victim := m.mandateFor(t, "*")
	victimID := m.mandateID(t, victim)
	thief := caller{Server: m.Server, merchant: m.shop}
	_, err := thief.ClientOf(t, m.shop).CreateAccessToken(t.Context(), client.AccessTokenParams{Mandate: victimID})
	require.ErrorIs(t, err, client.ErrNotFound, "bound to a mandate that another merchant created")
	_, err = thief.ClientOf(t, m.shop).CreateAccessToken(t.Context(), client.AccessTokenParams{Mandate: victim})
	require.ErrorIs(t, err, client.ErrNotFound)
	token := thief.token(t, client.AccessTokenParams{})
	present, err := json.Marshal(purchase())
	require.NoError(t, err)
	thief.agent(t, token.Token, "POST", "/v1/mandates/"+victimID+"/presentations", string(present)).refused(t, 400, "validation_error")
	thief.agent(t, token.Token, "POST", "/v1/payments/charge", chargeBody(victimID, 100, "k")).refused(t, 400, "validation_error")
	thief.agent(t, token.Token, "POST", "/v1/mandates/"+victimID+"/revoke", "").refused(t, 404, "not_found")
	require.Zero(t, m.spent(t, victim))
	m.do(t, "DELETE", "/v1/access-tokens/"+token.ID, "").refused(t, 404, "not_found")
	require.Empty(t, m.do(t, "GET", "/v1/access-tokens", "").ok(t).Body["data"])
	require.NotContains(t, m.do(t, "GET", "/v1/access-tokens?starting_after="+token.ID, "").Text, token.ID)
	thief.agent(t, token.Token, "GET", "/v1/merchants/stats", "").refused(t, 403, "insufficient_scope")
}

func TestRevokedExpiredAndUnknownTokensAreUnauthorized(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	path := "/v1/mandates/" + c.mandateID(t, c.mandate(t, 500, 1000)) + "/balance"
	short, long := c.token(t, client.AccessTokenParams{ExpiresInDays: 1}), c.token(t, client.AccessTokenParams{})
	require.Equal(t, 90*24*time.Hour, long.ExpiresAt.Sub(long.CreatedAt))
	c.agent(t, short.Token, "GET", path, "").ok(t)
	c.Clock.Advance(24 * time.Hour)
	for name, token := range map[string]string{
		"expired": short.Token, "unknown": id.NewCapability(id.Token), "id": long.ID, "hash": id.Hash(long.Token), "empty": "", "key": c.merchant.APIKey,
	} {
		e := c.agent(t, token, "GET", path, "").refused(t, 401, "unauthorized")
		if token != "" {
			require.Equal(t, `Bearer realm="merchant", error="invalid_token"`, e.Header.Get("WWW-Authenticate"), name)
		}
	}
	c.do(t, "GET", path, "", "Authorization", "Bearer "+long.Token).refused(t, 401, "unauthorized") // beside the key
	c.do(t, "GET", path, "", "Authorization", "Bearer of-a-proxy").ok(t)
	c.agent(t, long.Token, "GET", path, "").ok(t)
	for range 2 {
		revoked := c.do(t, "DELETE", "/v1/access-tokens/"+long.ID, "").ok(t)
		require.Equal(t, "revoked", revoked.str("status"))
		require.Empty(t, revoked.str("token"))
		c.agent(t, long.Token, "GET", path, "").refused(t, 401, "unauthorized")
	}
	c.do(t, "DELETE", "/v1/access-tokens/tok_none", "").refused(t, 404, "not_found")
}

func TestAccessTokensAreListedWithoutTheirSecret(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open})
			first := c.token(t, client.AccessTokenParams{Name: "first", Scopes: []client.Scope{client.ScopeRevoke, client.ScopePay, client.ScopePay}})
			require.Equal(t, []client.Scope{client.ScopePay, client.ScopeRevoke}, first.Scopes)
			c.Clock.Advance(time.Second)
			second := c.token(t, client.AccessTokenParams{Name: "second"})
			c.Clock.Advance(10*time.Minute + 30*time.Second)
			c.agent(t, first.Token, "POST", "/v1/mandates", `{"maxPerTxCents":1,"maxMonthlySpendCents":1}`).ok(t)
			var listed []client.AccessToken
			for token, err := range c.Client().AccessTokens(t.Context(), client.ListParams{Limit: 1}) {
				require.NoError(t, err)
				listed = append(listed, token)
			}
			require.Len(t, listed, 2)
			require.Equal(t, []string{second.ID, first.ID}, []string{listed[0].ID, listed[1].ID})
			require.True(t, listed[0].LastUsedAt.IsZero())
			require.Equal(t, c.Clock.Now().UTC().Truncate(time.Minute), listed[1].LastUsedAt)
			require.True(t, strings.HasSuffix(first.Token, first.LastFour))
			require.NotContains(t, c.do(t, "GET", "/v1/access-tokens", "").ok(t).Text, "token_")
		})
	}
}

func TestBadAccessTokensNameTheField(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	for body, param := range map[string]string{
		`{"scopes":[]}`:                               "scopes",
		`{"scopes":["all"]}`:                          "scopes",
		`{"scopes":["pay","admin"]}`:                  "scopes",
		`{"expiresInDays":91}`:                        "expiresInDays",
		`{"expiresInDays":-1}`:                        "expiresInDays",
		`{"name":"` + strings.Repeat("x", 101) + `"}`: "name",
		`{"mandate":"dtok_x"}`:                        "intentMandate",
	} {
		e := c.do(t, "POST", "/v1/access-tokens", body).refused(t, 400, "validation_error")
		require.Equal(t, param, e.str("param"), body)
	}
	c.do(t, "POST", "/v1/access-tokens", `{"mandate":"del_01JDZ8Y5TT6S8V3PB2N6C9XQ4R"}`).refused(t, 404, "not_found")
}

func TestAnAgentPaysWhomTheMandateAllowsOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			m := openMarketOn(t, kind)
			mandate := m.mandateFor(t, m.merchant.ID, m.shop.ID)
			mandateID := m.mandateID(t, mandate)
			token := m.token(t, client.AccessTokenParams{Mandate: mandateID, Scopes: []client.Scope{client.ScopePay}}).Token
			pay := func(recipient, key string) answer {
				body := strings.Replace(chargeBody(mandateID, 100, key), "{", `{"recipient":"`+recipient+`",`, 1)
				return m.agent(t, token, "POST", "/v1/payments/charge", body)
			}
			first := pay(m.shop.ID, "k").ok(t)
			again := pay(m.shop.ID, "k").ok(t)
			require.Equal(t, first.str("transactionId"), again.str("transactionId"))
			require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
			pay("", "k").refused(t, 422, "idempotency_mismatch")
			pay(shopWallet, "k").refused(t, 422, "idempotency_mismatch")
			shop := caller{Server: m.Server, merchant: m.shop}
			require.Equal(t, 1, shop.do(t, "GET", "/v1/merchants/stats", "").ok(t).int("transactionCount"))
			pay("", "own").ok(t)
			pay(shopWallet, "wallet").ok(t)
			require.Equal(t, 300, m.spent(t, mandate))

			stranger, err := m.CreateMerchant(t.Context(), server.MerchantParams{Name: "Stranger"})
			require.NoError(t, err)
			pay(stranger.ID, "s").refused(t, 403, "merchant_not_allowed")
			pay("0x2222222222222222222222222222222222222222", "w").refused(t, 403, "merchant_not_allowed")
			pay("mer_01JDZ8Y5TT6S8V3PB2N6C9XQ4R", "n").refused(t, 400, "validation_error")
			pay("bob", "n").refused(t, 400, "validation_error")
			require.Equal(t, 300, m.spent(t, mandate))
		})
	}
}

func TestAnAgentSharesNoIdempotencyKeyWithItsMerchant(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 500, 1000)
	token := c.token(t, client.AccessTokenParams{}).Token
	own := c.charge(t, m, 100, "order-1").ok(t)
	agents := c.agent(t, token, "POST", "/v1/payments/charge", chargeBody(m, 100, "order-1")).ok(t)
	require.NotEqual(t, own.str("transactionId"), agents.str("transactionId"))
	c.agent(t, token, "POST", "/v1/payments/charge", chargeBody(m, 7, "order-2")).ok(t)
	c.charge(t, m, 100, "order-2").ok(t) // no mismatch

	session := `{"maxPerTxCents":500,"maxMonthlySpendCents":1000,"idempotencyKey":"setup-1"}`
	mine := c.do(t, "POST", "/v1/mandates", session).ok(t)
	theirs := c.agent(t, token, "POST", "/v1/mandates", session).ok(t)
	require.NotEqual(t, mine.str("sessionToken"), theirs.str("sessionToken"), "an agent that guesses a key gets no one's mandate")
	require.Equal(t, theirs.str("sessionToken"), c.agent(t, token, "POST", "/v1/mandates", session).ok(t).str("sessionToken"))
}

func TestAMerchantNamesNoOtherRecipient(t *testing.T) {
	t.Parallel()
	m := openMarket(t)
	mandate := m.mandateFor(t, "*")
	for _, path := range []string{"/v1/payments/charge", "/v1/payments/authorize"} {
		body := strings.Replace(chargeBody(mandate, 100, "k"), "{", `{"recipient":"`+m.shop.ID+`",`, 1)
		require.Equal(t, "recipient", m.do(t, "POST", path, body).refused(t, 400, "validation_error").str("param"))
	}
	require.Zero(t, m.spent(t, mandate))
}

func TestAnAgentsRequestsBeyondItsScopesAreLimited(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{Configure: func(cfg *server.Config) { cfg.RequestsPerSecond = 1 }})
	token := c.token(t, client.AccessTokenParams{}).Token
	for range 2 {
		c.agent(t, token, "GET", "/v1/merchants/stats", "").refused(t, 403, "insufficient_scope")
	}
	c.agent(t, token, "GET", "/v1/merchants/stats", "").refused(t, 429, "rate_limit_exceeded")
}

// TestAuditLogHasTokensAndWhatAgentsPaid: each action once, with the token's id and no secret.
func TestAuditLogHasTokensAndWhatAgentsPaid(t *testing.T) {
	t.Parallel()
	c, o, _ := operated(t)
	mandate := c.mandate(t, 500, 1000)
	token := c.token(t, client.AccessTokenParams{Mandate: mandate})
	for range 2 { // a repeat is no action
		c.agent(t, token.Token, "POST", "/v1/payments/charge", chargeBody(mandate, 100, "k")).ok(t)
	}
	for range 2 {
		c.do(t, "DELETE", "/v1/access-tokens/"+token.ID, "").ok(t)
	}
	found := map[string]int{}
	require.Eventually(t, func() bool { // a payment's entry is stored soon after it
		clear(found)
		log, err := o.AuditLog(t.Context(), "merchant:"+c.merchant.ID, "", 100)
		require.NoError(t, err)
		for _, e := range log {
			require.NotContains(t, e.Detail, token.Token)
			found[e.Action]++
			if e.Action == "agent.pay" {
				require.Contains(t, e.Detail, token.ID)
			}
		}
		return found["agent.pay"] > 0
	}, 5*time.Second, 10*time.Millisecond)
	require.Equal(t, 1, found["token.create"])
	require.Equal(t, 1, found["token.revoke"])
	require.Equal(t, 1, found["agent.pay"])
}
