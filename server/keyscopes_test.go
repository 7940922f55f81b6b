package server_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
)

// keyScopes returns the scopes of API keys that each documented route needs.
func keyScopes(t *testing.T) map[string][]client.Scope {
	t.Helper()
	text, err := os.ReadFile("internal/api/openapi.json")
	require.NoError(t, err)
	var doc struct {
		Paths map[string]map[string]struct{ Security []map[string][]client.Scope } `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(text, &doc))
	needed := map[string][]client.Scope{}
	for path, methods := range doc.Paths {
		for method, operation := range methods {
			for _, way := range operation.Security {
				if scopes := way["apiKey"]; len(scopes) > 0 {
					needed[strings.ToUpper(method)+" "+path] = scopes
				}
			}
		}
	}
	return needed
}

// withKey returns a caller whose API key has these scopes alone.
func (c caller) withKey(t *testing.T, o *server.Operator, scopes ...client.Scope) caller {
	t.Helper()
	plain, key, err := o.CreateAPIKey(t.Context(), c.merchant.ID, "", scopes...)
	require.NoError(t, err)
	require.Len(t, key.Scopes, len(scopes))
	c.merchant.APIKey = plain
	return c
}

func TestAnAPIKeyOpensOnlyTheRoutesOfItsScopes(t *testing.T) {
	t.Parallel()
	c, o, _ := operated(t)
	only := map[client.Scope]caller{}
	for _, s := range client.KeyScopes() {
		only[s] = c.withKey(t, o, s)
	}
	needed := keyScopes(t)
	for _, route := range routes(t) {
		method, pattern, _ := strings.Cut(route, " ")
		if slices.Contains(public, route) || strings.HasPrefix(pattern, "/v1/test_helpers/") {
			continue
		}
		scopes := needed[route]
		require.NotEmpty(t, scopes, route)
		require.Subset(t, client.KeyScopes(), scopes, route)
		body := ""
		switch {
		case route == "POST /v1/access-tokens":
			body = `{"scopes":[]}` // not all, which need other scopes
		case method == "POST":
			body = "{}"
		}
		for _, own := range client.KeyScopes() {
			a := only[own].do(t, method, placeholders.Replace(pattern), body)
			if len(scopes) == 1 && own == scopes[0] {
				require.NotContains(t, []int{401, 403}, a.Status, route)
				continue
			}
			e := a.refused(t, 403, "insufficient_scope")
			lacks := client.Scope(e.str("scope"))
			require.Contains(t, scopes, lacks, route)
			require.NotEqual(t, own, lacks, route)
			require.Contains(t, e.str("message"), "The API key lacks the scope "+string(lacks), route)
		}
	}
}

// TestAnAPIKeyGivesNoMoreThanItHas: it creates no access token that does what the key does not.
func TestAnAPIKeyGivesNoMoreThanItHas(t *testing.T) {
	t.Parallel()
	c, o, _ := operated(t)
	admin := c.withKey(t, o, client.ScopeAdmin)
	for _, body := range []string{`{}`, `{"scopes":["pay"]}`, `{"scopes":["revoke"]}`} {
		require.Equal(t, "charge", admin.do(t, "POST", "/v1/access-tokens", body).refused(t, 403, "insufficient_scope").str("scope"))
	}
	require.Equal(t, "read", admin.do(t, "POST", "/v1/access-tokens", `{"scopes":["balance"]}`).refused(t, 403, "insufficient_scope").str("scope"))
	reader := c.withKey(t, o, client.ScopeAdmin, client.ScopeRead)
	reader.do(t, "POST", "/v1/access-tokens", `{"scopes":["balance"]}`).ok(t)

	hook := `{"url":"http://127.0.0.1:1/hook"}`
	made := reader.do(t, "POST", "/v1/webhook_endpoints", hook).ok(t).str("id")
	for path, body := range map[string]string{
		"/v1/webhook_endpoints": `{"url":"http://127.0.0.1:2/hook"}`, "/v1/webhook_endpoints/" + made + "/rotate_secret": "", "/v1/events/evt_01ARZ3NDEKTSV4RRFFQ69G5FAV/redeliver": "",
	} {
		require.Equal(t, "read", admin.do(t, "POST", path, body).refused(t, 403, "insufficient_scope").str("scope"), path)
	}
}

// TestPaywallsNeedAKeyThatCharges: for what takes from a mandate, or uses a receipt up.
func TestPaywallsNeedAKeyThatCharges(t *testing.T) {
	t.Parallel()
	c, o, db := operated(t)
	require.NoError(t, db.SetMerchantWallet(t.Context(), c.merchant.ID, agentsWallet))
	reader, charger := c.withKey(t, o, client.ScopeRead), c.withKey(t, o, client.ScopeCharge)
	hold := `{"mandate":"dtok_none","price":"0.75","payTo":"` + agentsWallet + `","network":"eip155:84532","resource":"https://a.example/","challengeId":"c","idempotencyKey":"k","metered":true}`
	redeem := `{"receipt":"eyJzdWNjZXNzIjp0cnVlLCJ0cmFuc2FjdGlvbiI6IjB4MSIsIm5ldHdvcmsiOiJlaXAxNTU6ODQ1MzIifQ==","resource":"https://a.example/","payTo":"` + agentsWallet + `","amount":"0.01","redeem":true}`
	for path, body := range map[string]string{"/v1/paywall/settle": hold, "/v1/x402/verify-receipt": redeem} {
		require.Equal(t, "charge", reader.do(t, "POST", path, body).refused(t, 403, "insufficient_scope").str("scope"), path)
		require.NotContains(t, charger.do(t, "POST", path, body).Text, "insufficient_scope", path)
	}
	reader.do(t, "POST", "/v1/x402/verify-receipt", strings.Replace(redeem, `,"redeem":true`, "", 1)).ok(t)
}

// TestTheFacilitatorNeedsAKeyThatCharges, if it is asked with a key: a payee settles what was
// signed up to an amount.
func TestTheFacilitatorNeedsAKeyThatCharges(t *testing.T) {
	t.Parallel()
	c, o, _ := operatedWith(t, servertest.Options{Chain: chain.Start})
	reader, charger := c.withKey(t, o, client.ScopeRead), c.withKey(t, o, client.ScopeCharge)
	for _, path := range []string{"/v1/x402/verify", "/v1/x402/settle"} {
		require.Equal(t, "charge", reader.do(t, "POST", path, "{}").refused(t, 403, "insufficient_scope").str("scope"), path)
		require.NotContains(t, charger.do(t, "POST", path, "{}").Text, "insufficient_scope", path)
	}
}

func TestScopesOfAPIKeysAreChecked(t *testing.T) {
	t.Parallel()
	c, o, _ := operated(t)
	_, _, err := o.CreateAPIKey(t.Context(), c.merchant.ID, "", client.ScopePay)
	require.ErrorContains(t, err, `scope: "pay" is not one of read, charge, refund and admin`)
	_, key, err := o.CreateAPIKey(t.Context(), c.merchant.ID, "", client.ScopeRefund, client.ScopeRead, client.ScopeRefund)
	require.NoError(t, err)
	require.Equal(t, []string{"read", "refund"}, key.Scopes)
	_, key, err = o.CreateAPIKey(t.Context(), c.merchant.ID, "")
	require.NoError(t, err)
	require.Equal(t, []string{"read", "charge", "refund", "admin"}, key.Scopes)
}
