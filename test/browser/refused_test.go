package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
)

// TestSetupPageRefusesClearly: each refusal of a setup page is a page that says so.
func TestSetupPageRefusesClearly(t *testing.T) {
	t.Parallel()
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := scripted(t, w)
			quiet(ctx, t)
			srv, s := setup(t)
			stranger := otherOrigin(t, s.SetupURL)
			another := newSetup(t, srv.Client())

			open(ctx, t, srv.URL+"/setup/sess_0000000000000000000000000000000000", "h1")
			require.Contains(t, text(ctx, t, "h1"), "nothing behind this link")
			accessible(ctx, t, "setup-of-another-"+w.name)

			open(ctx, t, stranger, "#pay")
			require.NoError(t, chromedp.Do(ctx, click("#pay"), visible(".badge.bad")))
			require.Contains(t, text(ctx, t, "main"), "another site")
			accessible(ctx, t, "setup-other-origin-"+w.name)

			tab, closeTab := chromedp.NewContext(ctx)
			t.Cleanup(closeTab)
			open(ctx, t, s.SetupURL, "#setup")
			open(tab, t, s.SetupURL, "#setup")
			require.NoError(t, chromedp.Do(ctx, click("#setup .button.main"), visible("#private")))
			m, err := srv.Client().WaitForMandate(t.Context(), s.SessionToken)
			require.NoError(t, err)
			private := text(ctx, t, "#private a")
			require.NoError(t, chromedp.Do(tab, click("#setup .button.main"), visible(".badge.good")))
			require.NoError(t, chromedp.Do(tab, hidden("#private")))
			accessible(tab, t, "setup-second-tab-"+w.name)
			again, err := srv.Client().WaitForMandate(t.Context(), s.SessionToken)
			require.NoError(t, err)
			require.Equal(t, m, again)

			open(ctx, t, s.SetupURL, ".badge.good")
			require.NoError(t, chromedp.Do(ctx, hidden("#private")))
			accessible(ctx, t, "setup-used-"+w.name)

			_, err = srv.Client().Revoke(t.Context(), m)
			require.NoError(t, err)
			for _, path := range []string{"", "/stop", "/limits"} {
				open(ctx, t, private+path, ".badge.bad")
				require.Contains(t, text(ctx, t, "#note"), "The merchant stopped it")
				require.NoError(t, chromedp.Do(ctx, hidden("#stop")))
			}
			accessible(ctx, t, "mandate-revoked-"+w.name)

			open(ctx, t, another.SetupURL, "#setup")
			srv.Clock.Advance(25 * time.Hour)
			require.NoError(t, chromedp.Do(ctx, click("#setup .button.main"), visible(".badge")))
			require.Contains(t, text(ctx, t, "main"), "older than a day")
			accessible(ctx, t, "setup-expired-"+w.name)
			late, err := srv.Client().Session(t.Context(), another.SessionToken)
			require.NoError(t, err)
			require.Equal(t, client.SessionFailed, late.Status)
		})
	}
}

func newSetup(t *testing.T, c *client.Client) client.Session {
	t.Helper()
	s, err := c.CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 2500, MaxMonthlySpendCents: 10_000})
	require.NoError(t, err)
	return s
}

func open(ctx context.Context, t *testing.T, url, selector string) {
	t.Helper()
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(url), visible(selector)))
}

// otherOrigin serves a page that sends a form to the address.
func otherOrigin(t *testing.T, action string) string {
	t.Helper()
	page := fmt.Sprintf(`<!doctype html><html lang="en"><title>Win a prize</title><link rel="icon" href="data:,"><main><h1>Win a prize</h1><form method="post" action="%s">
		<input type="hidden" name="action" value="confirm"><input type="hidden" name="maxPerTx" value="25"><input type="hidden" name="maxMonthly" value="100">
		<input type="hidden" name="method" value="card_visa"><button id="pay">Play</button></form></main>`, action)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(page))
	}))
	t.Cleanup(other.Close)
	return other.URL
}
