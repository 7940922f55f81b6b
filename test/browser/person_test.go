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
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(s.SetupURL), chromedp.WaitVisible("#email"),
		chromedp.SetValue("#email", "ada@example.com"), chromedp.Click(`button[value="code"]`), chromedp.WaitVisible("#notice")))
	accessible(ctx, t, "setup-code-"+name)
	right := code(t, srv)
	require.NoError(t, chromedp.Do(ctx, chromedp.SetValue("#code", other(right)), chromedp.Click("button.main"), chromedp.WaitVisible("#error")))
	require.Contains(t, text(ctx, t, "#error"), "Attempts left: 4")
	accessible(ctx, t, "setup-code-wrong-"+name)
	require.NoError(t, chromedp.Do(ctx, chromedp.SetValue("#code", right), chromedp.Click("button.main"), chromedp.WaitVisible(".badge.good")))
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

			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/me"), chromedp.WaitVisible("#email")))
			accessible(ctx, t, "sign-in-"+w.name)
			before := len(srv.Mails())
			require.NoError(t, chromedp.Do(ctx, chromedp.SetValue("#email", "ada@example.com"), chromedp.Click("button.main"), chromedp.WaitVisible("#code")))
			accessible(ctx, t, "sign-in-code-"+w.name)
			require.Eventually(t, func() bool { return len(srv.Mails()) > before }, time.Minute, 10*time.Millisecond)
			require.NoError(t, chromedp.Do(ctx, chromedp.SetValue("#code", code(t, srv)), chromedp.Click("button.main"), chromedp.WaitVisible(".mandate")))
			require.Contains(t, text(ctx, t, ".mandate"), "$12.50 of $100.00 spent in")
			accessible(ctx, t, "me-"+w.name)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/me/data"), chromedp.WaitVisible("#erase")))
			accessible(ctx, t, "me-data-"+w.name)

			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/me"), chromedp.WaitVisible(".mandate"),
				chromedp.Click(".mandate a.button"), chromedp.WaitVisible("#pause"), chromedp.Click("#pause"), chromedp.WaitVisible("#resume")))
			require.Contains(t, text(ctx, t, "#note"), "You paused it")
			accessible(ctx, t, "mandate-paused-"+w.name)
			_, err = charge()
			require.ErrorIs(t, err, client.ErrMandatePaused)
			require.NoError(t, chromedp.Do(ctx, chromedp.Click("#resume"), chromedp.WaitVisible("#pause")))
			_, err = charge()
			require.NoError(t, err)
			require.NoError(t, chromedp.Do(ctx, chromedp.Click("#stop"), chromedp.WaitVisible("#stop-form"),
				chromedp.Click("#stop-form button"), chromedp.WaitVisible(".badge.bad")))
			_, err = charge()
			require.ErrorIs(t, err, client.ErrMandateRevoked)

			r, err := srv.Client().Receipt(t.Context(), paid.TransactionID)
			require.NoError(t, err)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(r.ReceiptURL), chromedp.WaitVisible("#help")))
			require.Contains(t, text(ctx, t, "#help"), "dispute")
			accessible(ctx, t, "receipt-help-"+w.name)
			require.NoError(t, chromedp.Do(ctx, chromedp.Click("#help a"), chromedp.WaitVisible(".mandate"),
				chromedp.Click("header form button"), chromedp.WaitVisible("#email")))
		})
	}
}
