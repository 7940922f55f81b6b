package server_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

const (
	appCallback = "http://127.0.0.1/callback"
	verifier    = "a-verifier-of-at-least-forty-three-characters"
)

// app is an app that connects to a merchant's account, and the browser of that merchant.
type app struct {
	*tab

	id string
}

// openApp signs the merchant in and registers an app.
func openApp(t *testing.T, configure ...func(*server.Config)) *app {
	t.Helper()
	return register(t, merchantTab(t, configure...))
}

// openAppOn is openApp on an engine.
func openAppOn(t *testing.T, open func(testing.TB) servertest.Store) *app {
	t.Helper()
	b := openTab(t, servertest.Start(t, &servertest.Options{Store: open, Merchant: server.MerchantParams{Name: "Acme", Email: "ada@acme.example"}}))
	b.signIn("ada@acme.example")
	return register(t, b)
}

// register registers an app that the merchant of a tab may connect.
func register(t *testing.T, b *tab) *app {
	t.Helper()
	made := (&app{tab: b}).sendJSON("/oauth2/register", `{"client_name":"Shop's assistant","application_type":"native","redirect_uris":["`+appCallback+`","https://app.example/cb"]}`)
	require.Equal(t, 201, made.Status, made.Text)
	return &app{tab: b, id: made.str("client_id")}
}

// reply is the answer of an endpoint of OAuth.
type reply struct {
	Status int
	Text   string
	Header http.Header
	Body   map[string]any
}

func (r reply) str(name string) string { s, _ := r.Body[name].(string); return s }

func (a *app) send(path, contentType, body string, headers ...string) reply {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.srv.URL+path, strings.NewReader(body))
	require.NoError(a.t, err)
	r.Header.Set("Content-Type", contentType)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	require.NoError(a.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(a.t, err)
	out := reply{Status: resp.StatusCode, Text: string(text), Header: resp.Header}
	if len(text) > 0 {
		require.NoError(a.t, json.Unmarshal(text, &out.Body), "%s: %s", path, text)
	}
	return out
}

func (a *app) sendJSON(path, body string) reply {
	a.t.Helper()
	return a.send(path, "application/json", body)
}

func (a *app) form(path string, form url.Values, headers ...string) reply {
	a.t.Helper()
	return a.send(path, "application/x-www-form-urlencoded", form.Encode(), headers...)
}

// request returns the query of an authorization request, changed by pairs of name and value.
// An empty value removes the parameter.
func (a *app) request(pairs ...string) url.Values {
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"client_id": {a.id}, "redirect_uri": {"http://127.0.0.1:4321/callback"}, "response_type": {"code"}, "scope": {"pay balance"}, "state": {"st"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "resource": {a.srv.URL + "/mcp"},
	}
	for i := 0; i < len(pairs); i += 2 {
		if q.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			q.Del(pairs[i])
		}
	}
	return q
}

func authorize(q url.Values) string { return "/oauth2/authorize?" + q.Encode() }

var (
	consentKey  = regexp.MustCompile(`name="key" value="([^"]+)"`)
	backToApp   = regexp.MustCompile(`id="next" href="([^"]+)"`)
	tokenShown  = regexp.MustCompile(`token_[\w-]{43}`)
	grantLinked = regexp.MustCompile(`/dashboard/apps/(grt_\w+)/disconnect`)
)

// decide opens the page of a request and sends its form. It returns the answer, which is not
// followed.
func (a *app) decide(q url.Values, form url.Values) page {
	a.t.Helper()
	opened := a.get(authorize(q))
	require.Equal(a.t, 200, opened.Status, opened.Text)
	form.Set("key", consentKey.FindStringSubmatch(opened.Text)[1])
	return a.sendForm(authorize(q), form)
}

// sendForm sends a form whose answer is not followed.
func (a *app) sendForm(path string, form url.Values, origin ...string) page {
	a.t.Helper()
	follow := a.http.CheckRedirect
	a.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	defer func() { a.http.CheckRedirect = follow }()
	return a.post(path, form, origin...)
}

func allowed(mandate string, scopes ...string) url.Values {
	return url.Values{"decision": {"allow"}, "scope": scopes, "mandate": {mandate}}
}

// code consents to a request and returns the answer that the browser carries to the app.
func (a *app) code(q url.Values, form url.Values) url.Values {
	a.t.Helper()
	sent := a.decide(q, form)
	require.Equal(a.t, 303, sent.Status, sent.Text)
	to, err := url.Parse(sent.Location)
	require.NoError(a.t, err)
	return to.Query()
}

// redeem exchanges a code.
func (a *app) redeem(code string, pairs ...string) reply {
	a.t.Helper()
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "client_id": {a.id}, "redirect_uri": {"http://127.0.0.1:4321/callback"},
		"code_verifier": {verifier}, "resource": {a.srv.URL + "/mcp"},
	}
	for i := 0; i < len(pairs); i += 2 {
		if form.Set(pairs[i], pairs[i+1]); pairs[i+1] == "" {
			form.Del(pairs[i])
		}
	}
	return a.form("/oauth2/token", form)
}

func (a *app) refresh(token string, pairs ...string) reply {
	a.t.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {a.id}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return a.form("/oauth2/token", form)
}

// connect connects the app and returns its tokens.
func (a *app) connect(scopes ...string) reply {
	a.t.Helper()
	got := a.redeem(a.code(a.request("scope", strings.Join(scopes, " ")), allowed("all", scopes...)).Get("code"))
	require.Equal(a.t, 200, got.Status, got.Text)
	return got
}

// list lists the tools with an access token.
func (a *app) list(token string) reply {
	a.t.Helper()
	return a.mcp(token, listTools)
}

func (a *app) mcp(token, body string) reply {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.srv.URL+"/mcp", strings.NewReader(body))
	require.NoError(a.t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(a.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(a.t, err)
	return reply{Status: resp.StatusCode, Text: string(text), Header: resp.Header}
}

func TestAnAppConnectsRefreshesAndIsDisconnected(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			b := openTab(t, servertest.Start(t, &servertest.Options{Store: kind.open, Merchant: server.MerchantParams{Name: "Acme", Email: "ada@acme.example"}}))
			_, token := charged(t, b.srv.Client(), 100)
			balance, err := b.srv.Client().Balance(t.Context(), token)
			require.NoError(t, err)
			a := register(t, b)

			// Who is not signed in comes back to the app's request.
			require.Equal(t, "/dashboard/sign-in", a.get(authorize(a.request())).Path)
			asked := b.signIn("ada@acme.example")
			require.Equal(t, authorize(a.request()), asked.Path)
			for _, text := range []string{"Shop&#39;s assistant", "This name was not checked", "127.0.0.1", "Pay from mandates", balance.MandateID, "program on the computer"} {
				require.Contains(t, asked.Text, text)
			}
			require.NotContains(t, asked.Text, "End mandates")
			require.Contains(t, asked.Header.Get("Content-Security-Policy"), "form-action 'self' http://127.0.0.1:4321;")
			require.Contains(t, asked.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'")

			require.Contains(t, a.decide(a.request(), allowed("all")).Text, "Choose what the app may do")
			require.Contains(t, a.decide(a.request(), allowed("", "pay")).Text, "Choose which mandate")
			answer := a.code(a.request(), allowed(balance.MandateID, "balance", "revoke"))
			require.Equal(t, a.srv.URL, answer.Get("iss"))
			require.Equal(t, "st", answer.Get("state"))
			got := a.redeem(answer.Get("code"))
			require.Equal(t, 200, got.Status, got.Text)
			require.Equal(t, "balance", got.str("scope"), "fewer than asked for, and none that was not")
			require.Equal(t, "Bearer", got.str("token_type"))
			require.InDelta(t, 3600, got.Body["expires_in"], 0)
			require.Equal(t, "no-store", got.Header.Get("Cache-Control"))
			require.Contains(t, a.list(got.str("access_token")).Text, "delegare_fetch")

			listed := b.get("/dashboard/apps").Text
			require.Contains(t, listed, "Shop&#39;s assistant")
			require.Contains(t, listed, balance.MandateID)
			b.srv.Clock.Advance(time.Hour)
			require.Equal(t, 401, a.list(got.str("access_token")).Status, "after an hour")
			next := a.refresh(got.str("refresh_token"))
			require.Equal(t, 200, next.Status, next.Text)
			require.Equal(t, 200, a.list(next.str("access_token")).Status)

			require.Equal(t, "/dashboard/sign-in", b.get("/dashboard/apps").Path, "an hour without a request")
			b.signIn("ada@acme.example")
			grant := grantLinked.FindStringSubmatch(b.get("/dashboard/apps").Text)[1]
			for range 2 {
				require.Contains(t, b.post("/dashboard/apps/"+grant+"/disconnect", url.Values{}).Text, "No app is connected")
			}
			require.Equal(t, 401, a.list(next.str("access_token")).Status)
			require.Equal(t, "invalid_grant", a.refresh(next.str("refresh_token")).str("error"))
		})
	}
}

func TestAuthorizationServerDescribesItself(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	var meta map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.get("/.well-known/oauth-authorization-server").Text), &meta))
	require.Equal(t, a.srv.URL, meta["issuer"])
	require.Equal(t, []any{"S256"}, meta["code_challenge_methods_supported"])
	require.Equal(t, []any{"none"}, meta["token_endpoint_auth_methods_supported"])
	require.Equal(t, true, meta["authorization_response_iss_parameter_supported"])
	require.Equal(t, true, meta["client_id_metadata_document_supported"])
	for _, name := range []string{"authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"} {
		require.Contains(t, meta[name], a.srv.URL+"/oauth2/", name)
	}
	for path, resource := range map[string]string{"": "/mcp", "/mcp": "/mcp", "/v1": "/v1"} {
		var own map[string]any
		require.NoError(t, json.Unmarshal([]byte(a.get("/.well-known/oauth-protected-resource"+path).Text), &own))
		require.Equal(t, a.srv.URL+resource, own["resource"])
		require.Equal(t, []any{a.srv.URL}, own["authorization_servers"])
	}
}

// TestAnAppPaysAfterItsTokenWasRefreshed: a refreshed token is the same agent, whose payments
// are not repeated.
func TestAnAppPaysAfterItsTokenWasRefreshed(t *testing.T) {
	t.Parallel()
	a := openApp(t)
	_, token := charged(t, a.srv.Client(), 100)
	balance, err := a.srv.Client().Balance(t.Context(), token)
	require.NoError(t, err)
	got := a.redeem(a.code(a.request(), allowed(balance.MandateID, "pay", "balance")).Get("code"))
	c := caller{Server: a.srv}
	pay := map[string]any{"amountCents": 100, "currency": "usd", "description": "report", "recipient": a.srv.Merchant.ID}
	paid, ok := tool(t, c.mcpSession(t, got.str("access_token")), "authorize_agent_payment", pay)
	require.True(t, ok, paid)
	next := a.refresh(got.str("refresh_token"))
	session := c.mcpSession(t, next.str("access_token"))
	again, ok := tool(t, session, "authorize_agent_payment", pay)
	require.False(t, ok)
	require.Equal(t, "duplicate_payment", again["code"])
	a.srv.Clock.Advance(30 * time.Minute)
	last := a.refresh(next.str("refresh_token"))
	a.srv.Clock.Advance(45 * time.Minute) // the first two tokens have expired
	left, ok := tool(t, c.mcpSession(t, last.str("access_token")), "check_mandate_balance", nil)
	require.True(t, ok, left)
	require.InDelta(t, 200, left["currentMonthlySpendCents"], 0)
}

func TestDashboardCreatesAccessTokens(t *testing.T) {
	t.Parallel()
	b := merchantTab(t)
	_, mandate := charged(t, b.srv.Client(), 100)
	balance, err := b.srv.Client().Balance(t.Context(), mandate)
	require.NoError(t, err)
	form := url.Values{"name": {"Travel <b>agent"}, "scope": {"pay"}, "mandate": {balance.MandateID}}
	for name, text := range map[string]string{"name": "Name the token", "scope": "Choose what", "mandate": "Choose which mandate"} {
		bad := url.Values{"name": form["name"], "scope": form["scope"], "mandate": form["mandate"]}
		bad.Del(name)
		require.Contains(t, b.post("/dashboard/tokens", bad).Text, text)
	}
	made := b.post("/dashboard/tokens", form)
	require.Equal(t, http.StatusCreated, made.Status)
	require.NotContains(t, made.Text, "<b>agent")
	plain := tokenShown.FindString(made.Text)
	require.NotEmpty(t, plain)
	require.Contains(t, b.post("/dashboard/tokens", form).Text, "valid token of this name")
	require.NotContains(t, b.get("/dashboard/tokens").Text, plain)
	c := caller{Server: b.srv}
	require.Equal(t, 200, c.agent(t, plain, "POST", "/v1/payments/charge", chargeBody(balance.MandateID, 100, "k")).Status)
	c.agent(t, plain, "GET", "/v1/mandates/"+balance.MandateID+"/balance", "").refused(t, 403, "insufficient_scope")
	tokens, err := b.srv.Client().AccessTokensPage(t.Context(), client.ListParams{})
	require.NoError(t, err)
	require.Equal(t, balance.MandateID, tokens.Data[0].MandateID)
	for range 2 {
		require.Contains(t, b.post("/dashboard/tokens/"+tokens.Data[0].ID+"/revoke", url.Values{}).Text, "Revoked")
	}
	c.agent(t, plain, "POST", "/v1/payments/charge", chargeBody(balance.MandateID, 100, "l")).refused(t, 401, "unauthorized")

	b.srv.Clock.Advance(11 * time.Minute)
	require.Contains(t, b.post("/dashboard/tokens", form).Text, "Confirm that it is you")
	had := len(b.srv.Mails())
	require.Contains(t, b.post("/dashboard/prove", url.Values{"next": {"/tokens"}}).Text, "on its way")
	require.Equal(t, "/dashboard/tokens", b.post("/dashboard/prove/code", url.Values{"next": {"/tokens"}, "code": {b.code(had)}}).Path)
	require.Equal(t, http.StatusCreated, b.post("/dashboard/tokens", form).Status)
}

// backLink returns the answer behind the link of a page that refuses a request.
func backLink(t *testing.T, p page) url.Values {
	t.Helper()
	require.Equal(t, 400, p.Status, p.Text)
	found := backToApp.FindStringSubmatch(p.Text)
	require.NotNil(t, found, p.Text)
	to, err := url.Parse(html.UnescapeString(found[1]))
	require.NoError(t, err)
	return to.Query()
}
