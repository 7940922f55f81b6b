package browser_test

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// confirmWithCode confirms limits with a proven address, and returns the mandate.
func confirmWithCode(ctx context.Context, t *testing.T, srv *servertest.Server, name string) string {
	t.Helper()
	s, err := srv.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 2500, MaxMonthlySpendCents: 10_000})
	require.NoError(t, err)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(s.SetupURL), visible("#email"),
		fill("#email", "ada@example.com"), click(`button[value="code"]`), visible("#notice")))
	accessible(ctx, t, "setup-code-"+name)
	right := code(t, srv)
	require.NoError(t, chromedp.Do(ctx, fill("#code", other(right)), click("button.main"), visible("#error")))
	require.Contains(t, text(ctx, t, "#error"), "Attempts left: 4")
	accessible(ctx, t, "setup-code-wrong-"+name)
	require.NoError(t, chromedp.Do(ctx, fill("#code", right), click("button.main"), visible(".badge.good")))
	m, err := srv.Client().WaitForMandate(t.Context(), s.SessionToken)
	require.NoError(t, err)
	return m
}

// other returns a code that is not the one given.
func other(code string) string {
	if code[0] == '9' {
		return "0" + code[1:]
	}
	return "9" + code[1:]
}

// TestPersonSignsInPausesResumesAndStops: the way of a person from the setup page to the
// dashboard, with what the merchant meets meanwhile.
func TestPersonSignsInPausesResumesAndStops(t *testing.T) {
	t.Parallel()
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := scripted(t, w)
			srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Aurora Data", Website: "https://aurora.example"}})
			m := confirmWithCode(ctx, t, srv, w.name)
			charge := func() (client.Charge, error) {
				return srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 1250, Currency: client.USD, Description: "October report"})
			}
			paid, err := charge()
			require.NoError(t, err)

			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/me"), visible("#email")))
			accessible(ctx, t, "sign-in-"+w.name)
			before := len(srv.Mails())
			require.NoError(t, chromedp.Do(ctx, fill("#email", "ada@example.com"), click("button.main"), visible("#code")))
			accessible(ctx, t, "sign-in-code-"+w.name)
			require.Eventually(t, func() bool { return len(srv.Mails()) > before }, time.Minute, 10*time.Millisecond)
			require.NoError(t, chromedp.Do(ctx, fill("#code", code(t, srv)), click("button.main"), visible(".mandate")))
			require.Contains(t, text(ctx, t, ".mandate"), "$12.50 of $100.00 spent in")
			accessible(ctx, t, "me-"+w.name)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/me/data"), visible("#erase")))
			accessible(ctx, t, "me-data-"+w.name)

			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/me"), visible(".mandate"), click(`.mandate a[href$="/card"]`), visible("#change-card")))
			accessible(ctx, t, "me-card-"+w.name)
			require.NoError(t, chromedp.Do(ctx, click("#change-card details summary"), click(`input[value="card_declined"]`), click("#change-card .main"), visible("#error")))
			accessible(ctx, t, "me-card-refused-"+w.name)
			wide, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`(() => { const right = (e) => e.getBoundingClientRect().right;
				const most = right(document.querySelector("fieldset")) + 1;
				return [...document.querySelectorAll("details .method, details .number")].some((e) => right(e) > most) })()`))
			require.NoError(t, err)
			require.False(t, wide, "the cards stay within the page")
			require.NoError(t, chromedp.Do(ctx, click(`input[value="card_visa"]`), click("#change-card .main"), visible("#pause")))
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/me"), visible(".mandate"),
				click(".mandate a.button"), visible("#pause"), click("#notices"), visible("#above"), fill("#above", "0.5"),
				click("#notices .main"), visible("#error")))
			accessible(ctx, t, "mandate-notices-"+w.name)
			require.NoError(t, chromedp.Do(ctx, fill("#above", "25"), click("#notices .main"), visible("#pause"), click("#pause"), visible("#resume")))
			require.Contains(t, text(ctx, t, "#note"), "You paused it")
			accessible(ctx, t, "mandate-paused-"+w.name)
			_, err = charge()
			require.ErrorIs(t, err, client.ErrMandatePaused)
			require.NoError(t, chromedp.Do(ctx, click("#resume"), visible("#pause")))
			_, err = charge()
			require.NoError(t, err)
			require.NoError(t, chromedp.Do(ctx, click("#stop"), visible("#stop-form"),
				click("#stop-form button"), visible(".badge.bad")))
			_, err = charge()
			require.ErrorIs(t, err, client.ErrMandateRevoked)

			r, err := srv.Client().Receipt(t.Context(), paid.TransactionID)
			require.NoError(t, err)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(r.ReceiptURL), visible("#help")))
			require.Contains(t, text(ctx, t, "#help"), "dispute")
			accessible(ctx, t, "receipt-help-"+w.name)
			require.NoError(t, chromedp.Do(ctx, click("#help a"), visible(".mandate"),
				click("header form button"), visible("#email")))
		})
	}
}
