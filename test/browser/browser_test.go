// Package browser_test opens the service's pages in a real browser, with
// JavaScript switched off except on pages that ask a wallet, at the widths of a phone and
// a desk. Screenshots are kept in test/artifacts.
package browser_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// width is a screen, in CSS pixels.
type width struct {
	name   string
	pixels int64
}

var widths = []width{{"phone", 360}, {"desktop", 1280}}

// browser starts a browser of the width that runs no scripts.
func browser(t *testing.T, w width) context.Context {
	t.Helper()
	ctx := scripted(t, w)
	require.NoError(t, chromedp.Do(ctx, chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})))
	return ctx
}

// scripted starts a browser of the width. Without one the test is skipped, or
// fails where PAYWARRANT_REQUIRE asks for it.
func scripted(t *testing.T, w width) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		if strings.Contains(os.Getenv("PAYWARRANT_REQUIRE"), "chromium") {
			t.Fatal("chromium is required and not installed")
		}
		t.Skip("needs chromium, which is not installed")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("lang", "en-US"))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(w.pixels, 900)))
	return ctx
}

// shoot keeps a picture of the whole page.
func shoot(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	png, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	require.NoError(t, err)
	dir := filepath.Join("..", "artifacts")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
}

func text(ctx context.Context, t *testing.T, selector string) string {
	t.Helper()
	s, err := chromedp.Run(ctx, shownText(selector))
	require.NoError(t, err)
	return s
}

func setup(t *testing.T) (*servertest.Server, client.Session) {
	t.Helper()
	srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Aurora Data", Website: "https://aurora.example"}})
	s, err := srv.Client().CreateSession(t.Context(), client.SessionParams{
		MaxPerTxCents: 2500, MaxMonthlySpendCents: 10_000, ReturnURL: "https://aurora.example/thanks",
		FurtherLimits: client.FurtherLimits{MaxTotalSpendCents: 125_000},
	})
	require.NoError(t, err)
	return srv, s
}

var sixDigits = regexp.MustCompile(`(?m)^\d{3} \d{3}$`)

// code waits for a mail with a code, and returns the last one.
func code(t *testing.T, srv *servertest.Server) (found string) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, m := range srv.Mails() {
			found = cmp.Or(sixDigits.FindString(m.Text), found)
		}
		return found != ""
	}, time.Minute, 10*time.Millisecond)
	return found
}

// TestPersonLowersTheLimitsAndConfirms: the way of a person through the setup page.
func TestPersonLowersTheLimitsAndConfirms(t *testing.T) {
	t.Parallel()
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := browser(t, w)
			srv, s := setup(t)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(s.SetupURL), visible("#month")))
			require.Contains(t, text(ctx, t, "h1"), "Aurora Data")
			shoot(ctx, t, "setup-"+w.name)

			require.NoError(t, chromedp.Do(ctx,
				fill("#month", "250"),
				click("button.main"), visible("#error")))
			require.Contains(t, text(ctx, t, "#error"), "at most $100.00")
			shoot(ctx, t, "setup-error-"+w.name)

			require.NoError(t, chromedp.Do(ctx,
				fill("#month", "40"), fill("#per", "12.50"), fill("#total", "1,200"),
				click("#more-limits summary"), visible("#day"), fill("#day", "15")))
			shoot(ctx, t, "setup-limits-"+w.name)
			require.NoError(t, chromedp.Do(ctx,
				fill("#email", "ada@example.com"),
				click("button.main"), visible("#notice")))
			shoot(ctx, t, "setup-code-"+w.name)
			require.NoError(t, chromedp.Do(ctx, fill("#code", code(t, srv)),
				click("button.main"), visible(".badge.good")))
			require.Contains(t, text(ctx, t, "dl"), "up to $40.00")
			shoot(ctx, t, "confirmed-"+w.name)

			m, err := srv.Client().WaitForMandate(t.Context(), s.SessionToken)
			require.NoError(t, err)
			b, err := srv.Client().Balance(t.Context(), m)
			require.NoError(t, err)
			require.EqualValues(t, 1250, b.MaxPerTxCents)
			require.EqualValues(t, 4000, b.MaxMonthlySpendCents)
			require.Equal(t, client.FurtherLimits{MaxTotalSpendCents: 120_000, MaxDailySpendCents: 1500}, b.FurtherLimits)
			require.Eventually(t, func() bool { return len(srv.Mails()) == 2 }, time.Minute, 10*time.Millisecond)
			require.Contains(t, srv.Mails()[1].Text, "$40.00")

			ch, err := srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 1250, Currency: client.USD, Description: "October report"})
			require.NoError(t, err)
			r, err := srv.Client().Receipt(t.Context(), ch.TransactionID)
			require.NoError(t, err)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(r.ReceiptURL), visible(".amount")))
			require.Equal(t, "$12.50", text(ctx, t, ".amount"))
			shoot(ctx, t, "receipt-"+w.name)
		})
	}
}

func TestPersonDeclines(t *testing.T) {
	t.Parallel()
	ctx := browser(t, widths[0])
	srv, s := setup(t)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(s.SetupURL), visible(`button[value="decline"]`),
		click(`button[value="decline"]`), visible(".badge.wait")))
	shoot(ctx, t, "declined")
	after, err := srv.Client().Session(t.Context(), s.SessionToken)
	require.NoError(t, err)
	require.Equal(t, client.SessionFailed, after.Status)
}
