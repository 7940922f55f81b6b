package server_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
)

// The attacks of RFC 9700 §4 and of the security pages of the Model Context Protocol, each by
// its name there.

// TestInterceptedCodeIsWorthNothing: without the verifier, at another address or for another app,
// and it does not end what the app itself has.
func TestInterceptedCodeIsWorthNothing(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	thief := register(t, a.tab)
	code := a.code(a.request(), allowed("all", "pay")).Get("code")
	for name, pairs := range map[string][]string{
		"no verifier": {"code_verifier", ""}, "short verifier": {"code_verifier", "short"}, "other verifier": {"code_verifier", strings.Repeat("x", 43)},
		"the challenge as verifier": {"code_verifier", a.request().Get("code_challenge")},
		"other redirect":            {"redirect_uri", "https://app.example/cb"}, "other port": {"redirect_uri", "http://127.0.0.1:4322/callback"},
		"no redirect": {"redirect_uri", ""}, "other client": {"client_id", thief.id},
	} {
		require.Equal(t, "invalid_grant", a.redeem(code, pairs...).str("error"), name)
	}
	require.Equal(t, "invalid_client", a.redeem(code, "client_id", "").str("error"))
	require.Equal(t, "invalid_target", a.redeem(code, "resource", a.srv.URL+"/v1").str("error"))
	require.Equal(t, 200, a.redeem(code).Status)

	late := a.code(a.request(), allowed("all", "pay")).Get("code")
	a.srv.Clock.Advance(time.Minute)
	require.Equal(t, "invalid_grant", a.redeem(late).str("error"), "a code is valid for a minute")
}

// TestReplayedCodeRevokesItsTokens, even without the verifier: somebody else has seen it.
func TestReplayedCodeRevokesItsTokens(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	code := a.code(a.request(), allowed("all", "pay")).Get("code")
	got := a.redeem(code)
	require.Equal(t, 200, a.list(got.str("access_token")).Status)
	require.Equal(t, "invalid_grant", a.redeem(code, "code_verifier", strings.Repeat("x", 43)).str("error"))
	require.Equal(t, 401, a.list(got.str("access_token")).Status)
	require.Equal(t, "invalid_grant", a.refresh(got.str("refresh_token")).str("error"))
	require.NotContains(t, a.get("/dashboard/apps").Text, "assistant")
}

// TestCodeRedeemedByTwoAtOnce: at most one gets tokens, and they are revoked.
func TestCodeRedeemedByTwoAtOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			a := openAppOn(t, kind.open)
			code := a.code(a.request(), allowed("all", "pay")).Get("code")
			answers := make([]reply, 8)
			var all sync.WaitGroup
			for i := range answers {
				all.Go(func() { answers[i] = a.redeem(code) })
			}
			all.Wait()
			got := 0
			for _, answer := range answers {
				if answer.Status == http.StatusOK {
					got++
					require.Equal(t, 401, a.list(answer.str("access_token")).Status)
					continue
				}
				require.Equal(t, "invalid_grant", answer.str("error"), answer.Text)
			}
			require.LessOrEqual(t, got, 1)
		})
	}
}

// TestReusedRefreshTokenKillsTheFamily, also if the thief uses it first and the app second.
func TestReusedRefreshTokenKillsTheFamily(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	first := a.connect("pay")
	other := a.connect("pay")
	second := a.refresh(first.str("refresh_token"))
	require.NotEqual(t, first.str("refresh_token"), second.str("refresh_token"))
	third := a.refresh(second.str("refresh_token"))
	require.Equal(t, "invalid_grant", a.refresh(first.str("refresh_token")).str("error"))
	for _, tokens := range []reply{first, second, third} {
		require.Equal(t, 401, a.list(tokens.str("access_token")).Status)
		require.Equal(t, "invalid_grant", a.refresh(tokens.str("refresh_token")).str("error"))
	}
	require.Equal(t, 200, a.list(other.str("access_token")).Status, "another consent is another family")

	thief := register(t, a.tab)
	require.Equal(t, "invalid_grant", thief.refresh(other.str("refresh_token")).str("error"), "issued to another client")
	require.Equal(t, "invalid_grant", a.refresh(other.str("access_token")).str("error"), "no refresh token")
	require.Equal(t, "invalid_grant", a.redeem(other.str("refresh_token")).str("error"), "no code")
	a.srv.Clock.Advance(30 * 24 * time.Hour)
	require.Equal(t, "invalid_grant", a.refresh(other.str("refresh_token")).str("error"), "not used for 30 days")
}

// TestScopesDoNotGrow at a refresh, nor by what a token calls.
func TestScopesDoNotGrow(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	got := a.connect("pay", "balance")
	require.Equal(t, "invalid_scope", a.refresh(got.str("refresh_token"), "scope", "pay revoke").str("error"))
	fewer := a.refresh(got.str("refresh_token"), "scope", "balance")
	require.Equal(t, "balance", fewer.str("scope"))
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delegare_fetch","arguments":{"url":"https://a.example"}}}`
	refused := a.mcp(fewer.str("access_token"), call)
	require.Equal(t, 403, refused.Status)
	require.Equal(t, `Bearer error="insufficient_scope", scope="pay", resource_metadata="`+a.srv.URL+`/.well-known/oauth-protected-resource/mcp"`, refused.Header.Get("WWW-Authenticate"))
	batch := a.mcp(fewer.str("access_token"), "["+call+"]")
	require.NotContains(t, batch.Text, `"paid":true`)
	require.Equal(t, "pay balance", a.refresh(fewer.str("refresh_token")).str("scope"), "what was granted, but no more")
	form := allowed("all", "pay", "revoke", "admin")
	require.Equal(t, "pay", a.redeem(a.code(a.request("scope", "pay"), form).Get("code")).str("scope"), "a form cannot grant what was not asked for")
}

// TestTokenOfAnotherResourceIsRefused: that of the tools by the merchant API, and the reverse.
func TestTokenOfAnotherResourceIsRefused(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	_, mandate := charged(t, a.srv.Client(), 100)
	c := caller{Server: a.srv}
	tools := a.connect("pay", "balance")
	path := "/v1/mandates/" + mandate + "/balance"
	refused := c.agent(t, tools.str("access_token"), "GET", path, "").refused(t, 401, "unauthorized")
	require.Contains(t, refused.Header.Get("WWW-Authenticate"), `error="invalid_token"`)
	require.Equal(t, 200, a.list(tools.str("access_token")).Status)

	api := a.redeem(a.code(a.request("resource", a.srv.URL+"/v1"), allowed("all", "balance")).Get("code"), "resource", "")
	require.Equal(t, 200, c.agent(t, api.str("access_token"), "GET", path, "").Status)
	require.Equal(t, 401, a.list(api.str("access_token")).Status)
	require.Equal(t, "invalid_target", a.refresh(api.str("refresh_token"), "resource", a.srv.URL+"/mcp").str("error"))
	for _, resource := range []string{"https://evil.example/mcp", a.srv.URL, a.srv.URL + "/mcp/x", a.srv.URL + "/mcp#x", a.srv.URL + "/mcp?x=1", "mcp"} {
		require.Equal(t, "invalid_target", backLink(t, a.get(authorize(a.request("resource", resource)))).Get("error"), resource)
	}
	require.Equal(t, 200, a.get(authorize(a.request("resource", strings.ToUpper(a.srv.URL)+"/mcp"))).Status, "scheme and host in upper case")
}

// TestPKCECannotBeDowngraded: no challenge, the method plain, or none, which means plain.
func TestPKCECannotBeDowngraded(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	for name, pairs := range map[string][]string{
		"no challenge": {"code_challenge", ""}, "no method": {"code_challenge_method", ""}, "plain": {"code_challenge_method", "plain"},
		"neither": {"code_challenge", "", "code_challenge_method", ""}, "short": {"code_challenge", "abc"}, "lower case": {"code_challenge_method", "s256"},
		"not base64url": {"code_challenge", strings.Repeat("=", 43)},
	} {
		answer := backLink(t, a.get(authorize(a.request(pairs...))))
		require.Equal(t, "invalid_request", answer.Get("error"), name)
		require.Equal(t, a.srv.URL, answer.Get("iss"), "errors name the issuer too")
		require.Equal(t, "st", answer.Get("state"))
	}
	require.Equal(t, "unsupported_response_type", backLink(t, a.get(authorize(a.request("response_type", "token")))).Get("error"), "no implicit grant")
	require.Equal(t, "invalid_request", backLink(t, a.get(authorize(a.request("response_mode", "fragment")))).Get("error"))
	require.Equal(t, "invalid_scope", backLink(t, a.get(authorize(a.request("scope", "admin")))).Get("error"))
	require.Equal(t, "invalid_request", backLink(t, a.get(authorize(a.request())+"&scope=revoke")).Get("error"), "a repeated parameter")
}

// TestNoTokenWithoutTheMerchantsConsent: an app gets none by its own name, by a password, nor by
// exchange, and no answer in the browser contains a token that could be injected.
func TestNoTokenWithoutTheMerchantsConsent(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	for _, grant := range []string{
		"client_credentials", "password", "urn:ietf:params:oauth:grant-type:token-exchange", "urn:ietf:params:oauth:grant-type:jwt-bearer",
		"urn:ietf:params:oauth:grant-type:device_code", "implicit", "",
	} {
		form := url.Values{"grant_type": {grant}, "client_id": {a.id}, "username": {"ada"}, "password": {"x"}, "scope": {"pay"}, "resource": {a.srv.URL + "/mcp"}}
		got := a.form("/oauth2/token", form)
		require.Equal(t, 400, got.Status, grant)
		require.Contains(t, []string{"unsupported_grant_type", "invalid_request"}, got.str("error"), grant)
	}
	for _, kind := range []string{"token", "id_token", "code token", "none"} {
		answer := backLink(t, a.get(authorize(a.request("response_type", kind))))
		require.Equal(t, "unsupported_response_type", answer.Get("error"), kind)
		require.Empty(t, answer.Get("access_token"), kind)
	}
	sent := a.decide(a.request(), allowed("all", "pay"))
	require.Equal(t, 303, sent.Status, "a 307 would send the form on to the app")
	require.NotContains(t, sent.Header.Get("Location"), "token")
}

// TestInjectedCodeFitsNoOtherFlow: a code of the attacker's flow in the victim's browser, and
// the reverse, fails because of the verifier.
func TestInjectedCodeFitsNoOtherFlow(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	sum := sha256.Sum256([]byte(strings.Repeat("y", 43)))
	victim := a.code(a.request("code_challenge", base64.RawURLEncoding.EncodeToString(sum[:])), allowed("all", "pay")).Get("code")
	require.Equal(t, "invalid_grant", a.redeem(victim).str("error"))
	require.Equal(t, 200, a.redeem(victim, "code_verifier", strings.Repeat("y", 43)).Status)
}

// TestCodeGoesOnlyToARegisteredAddress. A page says what is wrong; nothing is redirected.
func TestCodeGoesOnlyToARegisteredAddress(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	for _, to := range []string{
		"https://evil.example/cb", "https://app.example/cb/", "https://app.example/CB", "https://app.example/cb?x=1", "https://app.example:444/cb",
		"https://app.example/cb#fragment", "https://app.example/cb#", "https://user@app.example/cb", "https://app.example@evil.example/cb", "https://app.example\\@evil.example/cb",
		"https://app.example%2eevil.example/cb", "https:/app.example/cb", "//app.example/cb", "javascript:alert(1)", "data:text/html,x", "http://app.example/cb",
		"http://127.0.0.1.evil.example/callback", "http://127.0.0.1@evil.example/callback", "http://127.1/callback", "http://0x7f000001/callback", "http://2130706433/callback",
		"http://[::ffff:127.0.0.1]/callback", "http://localhost/callback", "http://LOCALHOST/callback", "http://127.0.0.1:0/callback", "http://127.0.0.1:99999/callback",
		"http://127.0.0.1:80:80/callback", "http://127.0.0.1/callback/../other", "http://127.0.0.1/callback?x", "https://127.0.0.1/callback", " http://127.0.0.1/callback", "",
	} {
		shown := a.get(authorize(a.request("redirect_uri", to)))
		require.Equal(t, 400, shown.Status, to)
		require.Contains(t, shown.Text, "redirect_uri", to)
		require.NotRegexp(t, backToApp, shown.Text, to)
	}
	repeated := a.get(authorize(a.request()) + "&redirect_uri=https%3A%2F%2Fevil.example")
	require.Equal(t, 400, repeated.Status)
	require.NotRegexp(t, backToApp, repeated.Text)
	for _, to := range []string{"https://app.example/cb", appCallback, "http://127.0.0.1:1/callback", "http://127.0.0.1:65535/callback"} {
		require.Equal(t, 200, a.get(authorize(a.request("redirect_uri", to))).Status, to)
	}
	require.Equal(t, 400, a.get(authorize(a.request("client_id", "app_01JDZ8Y5TT6S8V3PB2N6C9XQ4R"))).Status)
}

// TestOpenRedirectorIsNone: neither an invalid request nor a denied one leads a person away
// without a decision, and signing in leads to pages of the service alone.
func TestOpenRedirectorIsNone(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	invalid := a.sendForm(authorize(a.request("response_type", "x")), url.Values{"decision": {"allow"}})
	require.Equal(t, 400, invalid.Status)
	require.Empty(t, invalid.Location)
	denied := a.decide(a.request(), url.Values{"decision": {"deny"}})
	require.Equal(t, 303, denied.Status)
	to, err := url.Parse(denied.Location)
	require.NoError(t, err)
	require.Equal(t, []string{"access_denied", a.srv.URL, "st"}, []string{to.Query().Get("error"), to.Query().Get("iss"), to.Query().Get("state")})
	require.Empty(t, to.Query().Get("code"))

	stranger := openTab(t, a.srv)
	stranger.get(authorize(a.request()) + "&next=https%3A%2F%2Fevil.example")
	require.True(t, strings.HasPrefix(stranger.signIn("ada@acme.example").Path, "/oauth2/authorize?"))
	again := openTab(t, a.srv)
	again.get(authorize(a.request()))
	a.srv.Clock.Advance(15 * time.Minute)
	require.Equal(t, "/dashboard", again.signIn("ada@acme.example").Path, "an old request is forgotten")
	own, err := url.Parse(a.srv.URL)
	require.NoError(t, err)
	until := strconv.FormatInt(a.srv.Clock.Now().Add(time.Minute).Unix(), 10)
	for _, page := range []string{"//evil.example/", "/\\evil.example/", "/\t/evil.example", "https://evil.example/", "evil.example", ""} {
		planted := openTab(t, a.srv)
		planted.http.Jar.SetCookies(own, []*http.Cookie{{Name: "return", Value: until + "." + base64.RawURLEncoding.EncodeToString([]byte(page)), Path: "/"}})
		require.Equal(t, "/dashboard", planted.signIn("ada@acme.example").Path, "a planted cookie: %s", page)
	}
}

// TestMixUpIsNoticed: an app that talks with several servers sees in each answer which one it
// comes from, and metadata and answers name the same issuer.
func TestMixUpIsNoticed(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	var meta struct{ Issuer string }
	require.NoError(t, json.Unmarshal([]byte(a.get("/.well-known/oauth-authorization-server").Text), &meta))
	for name, answer := range map[string]url.Values{
		"code": a.code(a.request(), allowed("all", "pay")), "denied": a.code(a.request(), url.Values{"decision": {"deny"}}),
		"invalid": backLink(t, a.get(authorize(a.request("response_type", "token")))),
	} {
		require.Equal(t, []string{meta.Issuer}, answer["iss"], name)
	}
}

// TestConsentCannotBeForged: by another site's form, another session's key, or a form for
// another request.
func TestConsentCannotBeForged(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	path := authorize(a.request())
	form := allowed("all", "pay")
	form.Set("key", consentKey.FindStringSubmatch(a.get(path).Text)[1])
	require.Equal(t, 403, a.sendForm(path, form, "https://evil.example").Status)
	require.Equal(t, 403, a.sendForm(path, form, "null").Status)
	require.Equal(t, 403, a.sendForm(authorize(a.request("scope", "pay revoke")), form).Status, "the key is for one request")
	require.Equal(t, 403, a.sendForm(path, allowed("all", "pay")).Status, "without a key")
	attacker := openTab(t, a.srv)
	attacker.signIn("ada@acme.example")
	mine := (&app{tab: attacker, id: a.id})
	require.Equal(t, 403, mine.sendForm(path, form).Status, "the key is for one session")
	require.Equal(t, 303, a.sendForm(path, form).Status)
	signedOut := openTab(t, a.srv)
	require.Equal(t, "/dashboard/sign-in", signedOut.post(path, form).Path)

	a.srv.Clock.Advance(11 * time.Minute)
	require.Contains(t, a.get(path).Text, "Confirm that it is you", "connecting an app needs a recent code, as creating a key does")
	had := len(a.srv.Mails())
	require.Contains(t, a.post("/dashboard/prove", url.Values{"next": {"return"}}).Text, "on its way")
	require.Equal(t, path, a.post("/dashboard/prove/code", url.Values{"next": {"return"}, "code": {a.tab.code(had)}}).Path)
}

// TestConsentCannotBeFramed: clickjacking.
func TestConsentCannotBeFramed(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	shown := a.get(authorize(a.request()))
	require.Contains(t, shown.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'")
	require.Equal(t, "no-store", shown.Header.Get("Cache-Control"))
	require.Equal(t, "no-referrer", shown.Header.Get("Referrer-Policy"))
}

// TestConfusedDeputyBetweenTwoMerchants: an app that two merchants connected acts for each by its
// own token alone, and none can be bound to the other's mandate.
func TestConfusedDeputyBetweenTwoMerchants(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	_, mandate := charged(t, a.srv.Client(), 100)
	balance, err := a.srv.Client().Balance(t.Context(), mandate)
	require.NoError(t, err)
	other, err := a.srv.CreateMerchant(t.Context(), server.MerchantParams{Name: "Other", Email: "eve@other.example"})
	require.NoError(t, err)
	_, theirs := charged(t, a.srv.ClientOf(t, other), 100)
	eve := openTab(t, a.srv)
	eve.signIn("eve@other.example")
	e := &app{tab: eve, id: a.id}
	require.Contains(t, e.decide(e.request(), allowed(balance.MandateID, "balance")).Text, "Choose which mandate")
	require.NotContains(t, e.get(authorize(e.request())).Text, balance.MandateID)
	got := e.connect("pay", "balance", "revoke")
	session := caller{Server: a.srv}.mcpSession(t, got.str("access_token"))
	for _, call := range []string{"check_mandate_balance", "revoke_mandate"} {
		_, ok := tool(t, session, call, map[string]any{"mandateId": balance.MandateID})
		require.False(t, ok, call)
	}
	own, err := a.srv.ClientOf(t, other).Balance(t.Context(), theirs)
	require.NoError(t, err)
	_, ok := tool(t, session, "check_mandate_balance", map[string]any{"mandateId": own.MandateID})
	require.True(t, ok)

	mine := a.connect("pay")
	grant := grantLinked.FindStringSubmatch(a.get("/dashboard/apps").Text)[1]
	require.Equal(t, 404, e.post("/dashboard/apps/"+grant+"/disconnect", url.Values{}).Status)
	require.Equal(t, 200, a.list(mine.str("access_token")).Status)
	tokens, err := a.srv.Client().AccessTokensPage(t.Context(), client.ListParams{})
	require.NoError(t, err)
	require.Empty(t, tokens.Data, "an app's tokens are not those of the merchant")
}

// TestRevokedTokensAreRefused: an access token alone, or all with the refresh token, by the app
// that has them.
func TestRevokedTokensAreRefused(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	thief := register(t, a.tab)
	revoke := func(by *app, token string) reply {
		return by.form("/oauth2/revoke", url.Values{"token": {token}, "client_id": {by.id}})
	}
	got := a.connect("pay")
	long, err := a.srv.Client().CreateAccessToken(t.Context(), client.AccessTokenParams{})
	require.NoError(t, err)
	for _, token := range []string{got.str("access_token"), got.str("refresh_token")} {
		require.Equal(t, "invalid_grant", revoke(thief, token).str("error"))
	}
	require.Equal(t, 200, a.list(got.str("access_token")).Status)
	require.Equal(t, 200, revoke(a, got.str("access_token")).Status)
	require.Equal(t, 401, a.list(got.str("access_token")).Status)
	next := a.refresh(got.str("refresh_token"))
	require.Equal(t, 200, next.Status)
	for range 2 {
		require.Equal(t, 200, revoke(a, next.str("refresh_token")).Status)
	}
	require.Equal(t, 401, a.list(next.str("access_token")).Status)
	require.Equal(t, "invalid_grant", a.refresh(next.str("refresh_token")).str("error"))
	for _, token := range []string{"unknown", "", long.Token} {
		require.Equal(t, 200, revoke(a, token).Status, "an unknown token is no error")
	}
	require.Equal(t, 200, a.list(long.Token).Status, "not a token of an app")
}

// TestSecretsAreNotInURLsOrLogs: the token endpoints read nothing from a URL, and no code, token
// or verifier is logged.
func TestSecretsAreNotInURLsOrLogs(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	a := openApp(t, func(c *server.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	code := a.code(a.request(), allowed("all", "pay")).Get("code")
	in := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "client_id": {a.id}, "code_verifier": {verifier}, "redirect_uri": {"http://127.0.0.1:4321/callback"}}
	require.Equal(t, "invalid_request", a.form("/oauth2/token?"+in.Encode(), url.Values{}).str("error"))
	require.Equal(t, "invalid_request", a.form("/oauth2/token?code="+code, in).str("error"))
	require.Equal(t, "invalid_client", a.form("/oauth2/token", in, "Authorization", "Basic eDp5").str("error"))
	require.Equal(t, "invalid_request", a.send("/oauth2/token", "application/json", "{}").str("error"))
	require.Equal(t, "invalid_request", a.send("/oauth2/token", "application/x-www-form-urlencoded", in.Encode()+"&code=x").str("error"))
	got := a.redeem(code)
	next := a.refresh(got.str("refresh_token"))
	a.refresh(got.str("refresh_token"))
	for _, secret := range []string{code, verifier, got.str("access_token"), got.str("refresh_token"), next.str("access_token"), next.str("refresh_token")} {
		require.NotEmpty(t, secret)
		require.NotContains(t, log.String(), secret)
	}
	require.Contains(t, log.String(), "oauth_secret_reused")
}

// TestRegistrationsOfANetworkAreBounded, and an app that redeems no code is forgotten.
func TestRegistrationsOfANetworkAreBounded(t *testing.T) {
	t.Parallel()
	a := openApp(t, func(c *server.Config) { c.RequestsPerSecond = 1000 })
	body := `{"redirect_uris":["https://app.example/cb"]}`
	for i := 1; i < 100; i++ {
		require.Equal(t, 201, a.sendJSON("/oauth2/register", body).Status, strconv.Itoa(i))
	}
	require.Equal(t, 429, a.sendJSON("/oauth2/register", body).Status)
	require.Equal(t, 200, a.get(authorize(a.request())).Status)
	a.connect("pay")
	unused := a.id
	a.srv.Clock.Advance(25 * time.Hour)
	fresh := register(t, a.tab)
	a.signIn("ada@acme.example")
	require.NotEmpty(t, fresh.code(fresh.request(), allowed("all", "pay")).Get("code"), "which the app does not redeem")
	require.Equal(t, 200, a.get(authorize(a.request("client_id", unused))).Status, "connected once")
	a.srv.Clock.Advance(25 * time.Hour)
	a.signIn("ada@acme.example")
	require.Equal(t, 400, a.get(authorize(a.request("client_id", fresh.id))).Status)
}

func TestRegistrationRefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	for body, code := range map[string]string{
		`{}`: "invalid_redirect_uri", `{"redirect_uris":[]}`: "invalid_redirect_uri", `{"redirect_uris":["javascript:alert(1)"]}`: "invalid_redirect_uri",
		`{"redirect_uris":["http://app.example/cb"]}`: "invalid_redirect_uri", `{"redirect_uris":["https://app.example/cb#x"]}`: "invalid_redirect_uri",
		`{"redirect_uris":["https://u@app.example/cb"]}`: "invalid_redirect_uri", `{"redirect_uris":["https://app.example\\@evil.example"]}`: "invalid_redirect_uri",
		`{"redirect_uris":["http://127.0.0.1.evil.example/"]}`: "invalid_redirect_uri", `{"redirect_uris":["com.example.app:/cb"]}`: "invalid_redirect_uri",
		`{"redirect_uris":["http://localhost/cb"],"application_type":"web"}`:                                  "invalid_redirect_uri",
		`{"redirect_uris":["https://localhost/cb"],"application_type":"web"}`:                                 "invalid_redirect_uri",
		`{"redirect_uris":["https://app.example/cb"],"application_type":"other"}`:                             "invalid_client_metadata",
		`{"redirect_uris":["https://app.example/cb"],"grant_types":["client_credentials"]}`:                   "invalid_client_metadata",
		`{"redirect_uris":["https://app.example/cb"],"response_types":["token"]}`:                             "invalid_client_metadata",
		`{"redirect_uris":["https://app.example/cb"],"client_name":"` + strings.Repeat("x", 61) + `"}`:        "invalid_client_metadata",
		`{"redirect_uris":["https://app.example/cb"],"client_name":"a\u202eb"}`:                               "invalid_client_metadata",
		`{"redirect_uris":"https://app.example/cb"}`:                                                          "invalid_client_metadata",
		`{"redirect_uris":["https://app.example/` + strings.Repeat("x", 512) + `"]}`:                          "invalid_redirect_uri",
		`{"redirect_uris":["https://app.example/cb"` + strings.Repeat(`,"https://app.example/cb"`, 20) + `]}`: "invalid_redirect_uri",
	} {
		refused := a.sendJSON("/oauth2/register", body)
		require.Equal(t, 400, refused.Status, body)
		require.Equal(t, code, refused.str("error"), body)
	}
	made := a.sendJSON("/oauth2/register", `{"redirect_uris":["cursor://cb","http://localhost:3000/cb"],"token_endpoint_auth_method":"client_secret_basic","grant_types":["authorization_code"]}`)
	require.Equal(t, 201, made.Status)
	require.Equal(t, "none", made.str("token_endpoint_auth_method"))
	require.Equal(t, []any{"http://localhost:3000/cb"}, made.Body["redirect_uris"])
	require.NotContains(t, made.Text, "secret")
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
