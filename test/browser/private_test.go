package browser_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/test/internal/nodetest"
)

// accessible requires that the page breaks no rule of axe-core and needs no
// horizontal scrolling, in the light and the dark theme, and keeps pictures of both.
func accessible(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	nodetest.Open(t, "axe")
	axe, err := os.ReadFile(filepath.Join("axe", "node_modules", "axe-core", "axe.min.js"))
	require.NoError(t, err)
	for _, theme := range []string{"light", "dark"} {
		require.NoError(t, chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}
			_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
			return err
		})))
		shoot(ctx, t, name+"-"+theme)
		_, err = chromedp.Run(ctx, chromedp.Evaluate[bool](string(axe)+`; window.broken = "";
			axe.run().then(r => window.broken = JSON.stringify(r.violations.map(v => v.id + ": " + v.nodes.map(n => n.html).join(" | ")))); true`))
		require.NoError(t, err)
		found, err := chromedp.Run(ctx, chromedp.Poll[string]("window.broken"))
		require.NoError(t, err)
		var broken []string
		require.NoError(t, json.Unmarshal([]byte(found), &broken))
		require.Empty(t, broken, "%s, %s", name, theme)
		wide, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("document.documentElement.scrollWidth > window.innerWidth"))
		require.NoError(t, err)
		require.False(t, wide, "%s scrolls sideways", name)
	}
}

// TestPersonFollowsAndStopsAMandate: a mandate for anyone says so, and its private
// page lists what was paid and stops it.
func TestPersonFollowsAndStopsAMandate(t *testing.T) {
	t.Parallel()
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := scripted(t, w)
			srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Aurora Data", Website: "https://aurora.example"}})
			s, err := srv.Client().CreateSession(t.Context(), client.SessionParams{
				MaxPerTxCents: 2500, MaxMonthlySpendCents: 10_000_000, AllowedMerchantIDs: []string{"*"}, ReturnURL: "https://aurora.example/thanks",
			})
			require.NoError(t, err)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(s.SetupURL), visible("#anyone")))
			accessible(ctx, t, "anyone-setup-"+w.name)
			require.NoError(t, chromedp.Do(ctx, fill("#month", "40"), click("button.main"), visible("#private")))
			accessible(ctx, t, "anyone-confirmed-"+w.name)

			m, err := srv.Client().WaitForMandate(t.Context(), s.SessionToken)
			require.NoError(t, err)
			for _, c := range []client.ChargeParams{{AmountCents: 1250, Description: "October report"}, {AmountCents: 75, Description: "A forecast of the weather for the next ten days, by the hour"}} {
				c.Mandate, c.Currency = m, client.USD
				_, err = srv.Client().Charge(t.Context(), c)
				require.NoError(t, err)
			}
			require.NoError(t, chromedp.Do(ctx, click("#private a"), visible("#mandate-page")))
			require.Contains(t, text(ctx, t, "#spent"), "$13.25 of $40.00 spent in")
			require.Contains(t, text(ctx, t, ".payments"), "October report")
			receipts := authorizations(t, srv.Client(), m)
			require.NoError(t, chromedp.Do(ctx, chromedp.Reload(), visible("#mandate-page")))
			accessible(ctx, t, "mandate-"+w.name)

			require.NoError(t, chromedp.Do(ctx, click("#stop"), visible("#stop-form")))
			accessible(ctx, t, "mandate-stop-"+w.name)
			require.NoError(t, chromedp.Do(ctx, click("#stop-form button"), visible(".badge.bad")))
			require.Contains(t, text(ctx, t, "#note"), "You stopped it")
			require.Contains(t, text(ctx, t, "#note"), "Up to $4.00 that your card already held for payments can still be charged.")
			accessible(ctx, t, "mandate-stopped-"+w.name)
			_, err = srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 100, Currency: client.USD, Description: "November report"})
			require.ErrorIs(t, err, client.ErrMandateRevoked)
			for state, address := range receipts {
				require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(address), visible(".badge")))
				accessible(ctx, t, "receipt-"+string(state)+"-"+w.name)
				require.Contains(t, text(ctx, t, "dl"), map[client.Status]string{
					client.Authorized: "Held on", client.Succeeded: "150,000 × token at $0.00001", client.Voided: "up to $4.00",
				}[state])
			}
		})
	}
}

// authorizations makes a charge that is authorized, one that is captured in part, and a voided
// one, and returns the addresses of their receipts.
func authorizations(t *testing.T, c *client.Client, m string) map[client.Status]string {
	t.Helper()
	receipts := map[client.Status]string{}
	for _, state := range []client.Status{client.Authorized, client.Succeeded, client.Voided} {
		held, err := c.Authorize(t.Context(), client.AuthorizeParams{ChargeParams: client.ChargeParams{
			Mandate: m, AmountCents: 400, Currency: client.USD, Description: "Translation of the annual report",
		}})
		require.NoError(t, err)
		switch state {
		case client.Succeeded:
			_, err = c.Capture(t.Context(), held.TransactionID, client.CaptureParams{
				AmountCents: 150, Usage: &client.Usage{Unit: "token", Quantity: 150_000, UnitPriceMicros: 10},
			})
		case client.Voided:
			_, err = c.Void(t.Context(), held.TransactionID)
		}
		require.NoError(t, err)
		r, err := c.Receipt(t.Context(), held.TransactionID)
		require.NoError(t, err)
		require.Equal(t, state, r.Status)
		receipts[state] = r.ReceiptURL
	}
	return receipts
}
