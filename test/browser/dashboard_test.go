package browser_test

import (
	"cmp"
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

var mailedCode = regexp.MustCompile(`\b\d{3} \d{3}\b`)

// signIn signs in to the dashboard with the code of a message.
func signIn(ctx context.Context, t *testing.T, srv *servertest.Server, email string) {
	t.Helper()
	enterMailedCode(ctx, t, srv, chromedp.Navigate(srv.URL+"/dashboard"), visible("#sign-in"), fill("#email", email), click("#sign-in .main"))
}

// enterMailedCode asks for a code by actions and enters the one that is mailed.
func enterMailedCode(ctx context.Context, t *testing.T, srv *servertest.Server, asking ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	had := len(srv.Mails())
	require.NoError(t, chromedp.Do(ctx, append(asking, visible("#code"))...))
	var code string
	require.Eventually(t, func() bool {
		for _, m := range srv.Mails()[had:] { // other messages may come meanwhile
			code = cmp.Or(mailedCode.FindString(m.Text), code)
		}
		return code != ""
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, chromedp.Do(ctx, fill("#code", code)))
}

// TestMerchantSignsUpChargesAndRefunds: the way of a merchant from the address to the refund, and of the person
// who then pauses, resumes and stops. Each page is accessible and quiet on its way.
func TestMerchantSignsUpChargesAndRefunds(t *testing.T) {
	t.Parallel()
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := scripted(t, w)
			quiet(ctx, t)
			srv := servertest.Start(t, &servertest.Options{Configure: func(c *server.Config) { c.MerchantSignUp = true }})
			page := func(path, name string) {
				require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+path), visible("h1")))
				accessible(ctx, t, "dashboard-"+name+"-"+w.name)
			}
			page("/dashboard/sign-in", "sign-in")
			signIn(ctx, t, srv, "ada@aurora.example")
			accessible(ctx, t, "dashboard-code-"+w.name)
			require.NoError(t, chromedp.Do(ctx, click("#enter-code .main"), visible("#name")))
			accessible(ctx, t, "dashboard-account-"+w.name)
			require.NoError(t, chromedp.Do(ctx, fill("#name", "Aurora Data"), fill("#website", "https://aurora.example"),
				click("#account .main"), visible("#start")))
			accessible(ctx, t, "dashboard-new-"+w.name)

			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/dashboard/keys"), visible("#label"),
				fill("#label", "Web shop"), click("#create-key .main"), visible("#secret")))
			accessible(ctx, t, "dashboard-key-"+w.name)
			c, err := client.New(client.Config{BaseURL: srv.URL, MerchantID: text(ctx, t, "#merchant-id"), APIKey: text(ctx, t, "#secret")})
			require.NoError(t, err)
			mandate, private := pays(ctx, t, c)
			_, err = c.CreateWebhookEndpoint(t.Context(), client.WebhookEndpointParams{URL: srv.URL + "/nowhere"})
			require.NoError(t, err)

			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/dashboard"), visible("#volume")))
			require.Eventually(t, func() bool {
				require.NoError(t, chromedp.Do(ctx, chromedp.Reload(), visible("#volume")))
				return strings.Contains(text(ctx, t, "#volume"), "$12.50 in the last 30 days")
			}, time.Minute, 50*time.Millisecond)
			accessible(ctx, t, "dashboard-overview-"+w.name)
			for _, filled := range []string{"transactions", "mandates", "webhooks", "events"} {
				page("/dashboard/"+filled, filled)
			}
			for _, list := range []string{"mandates", "webhooks", "events", "transactions"} {
				require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/dashboard/"+list), visible("tbody a"),
					click("tbody a"), hidden("tbody a[href^='/dashboard/"+list+"/']")))
				accessible(ctx, t, "dashboard-one-"+list+"-"+w.name)
			}
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/dashboard/transactions?state=succeeded"), visible("tbody a"),
				click("tbody a"), visible("#refund")))
			require.NoError(t, chromedp.Do(ctx, fill("#amount", "100"), click("#refund .danger"), visible("#error")))
			accessible(ctx, t, "dashboard-refund-refused-"+w.name)
			require.NoError(t, chromedp.Do(ctx, fill("#amount", "5"), fill("#reason", "Came late"),
				click("#refund .danger"), visible("#refunds")))
			accessible(ctx, t, "dashboard-refunded-"+w.name)

			charge := func() error {
				_, err := c.Charge(t.Context(), client.ChargeParams{Mandate: mandate, AmountCents: 100, Currency: client.USD, Description: "December report"})
				return err
			}
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(private), visible("#pause"), click("#pause"), visible("#resume")))
			require.Contains(t, text(ctx, t, ".payments"), "$5.00 refunded")
			require.ErrorIs(t, charge(), client.ErrMandatePaused)
			require.NoError(t, chromedp.Do(ctx, click("#resume"), visible("#pause")))
			require.NoError(t, charge())
			require.NoError(t, chromedp.Do(ctx, click("#stop"), visible("#stop-form"), click("#stop-form button"), visible(".badge.bad")))
			require.ErrorIs(t, charge(), client.ErrMandateRevoked)
		})
	}
}

// TestNewMerchantsPagesAreAccessible: pages without content say what fills them.
func TestNewMerchantsPagesAreAccessible(t *testing.T) {
	t.Parallel()
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := scripted(t, w)
			quiet(ctx, t)
			srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Aurora Data", Email: "ada@aurora.example"}})
			signIn(ctx, t, srv, "ada@aurora.example")
			require.NoError(t, chromedp.Do(ctx, click("#enter-code .main"), visible("#start")))
			for _, path := range []string{"transactions", "mandates", "keys", "webhooks", "events", "settings", "sandbox"} {
				require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/dashboard/"+path), visible("h1")))
				accessible(ctx, t, "dashboard-empty-"+path+"-"+w.name)
			}
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL), visible("h1")))
			accessible(ctx, t, "home-"+w.name)
		})
	}
}

// pays confirms a mandate by card on the setup page, and charges it. It returns the mandate and its private page.
func pays(ctx context.Context, t *testing.T, c *client.Client) (m, private string) {
	t.Helper()
	s, err := c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 2500, MaxMonthlySpendCents: 10_000})
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(s.SetupURL), visible("#setup"),
		click("#setup .button.main"), visible(".badge.good")))
	private = text(ctx, t, "#private a")
	m, err = c.WaitForMandate(t.Context(), s.SessionToken)
	require.NoError(t, err)
	_, err = c.Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 1250, Currency: client.USD, Description: "October report"})
	require.NoError(t, err)
	s, err = c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 2500, MaxMonthlySpendCents: 10_000})
	require.NoError(t, err)
	s, err = c.CompleteTestSession(t.Context(), s.SessionToken, client.TestCompletion{PaymentMethods: []string{"card_decline_after_setup"}})
	require.NoError(t, err)
	_, err = c.Charge(t.Context(), client.ChargeParams{Mandate: s.Mandate, AmountCents: 700, Currency: client.USD, Description: "November report"})
	require.NoError(t, err)
	return m, private
}
