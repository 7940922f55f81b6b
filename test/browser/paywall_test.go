package browser_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/devchain"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/chain"
)

// report is an article behind a paywall.
type report struct {
	*servertest.Server

	url    string
	served atomic.Int64
	broken atomic.Bool // the handler fails after the payment
	price  atomic.Pointer[string]
}

func behindPaywall(t *testing.T) *report {
	t.Helper()
	p := &report{Server: servertest.Start(t, &servertest.Options{Chain: chain.Start, Merchant: server.MerchantParams{Name: "Aurora Data"}})}
	srv := httptest.NewUnstartedServer(nil)
	origin := "http://" + srv.Listener.Addr().String()
	p.url = origin + "/reports/october"
	gate, err := paywall.New(paywall.Config{
		Name: "Aurora Data", MandateURL: origin + "/mandate", Price: "0.25", PayTo: p.Chain.PayTo, APIURL: p.URL, TestMode: true, Resource: p.url,
		Clock: p.Clock.Now, Discovery: &paywall.Discovery{Description: "The wind of October, hour by hour", Output: paywall.Output{Schema: map[string]any{"type": "object"}, Example: map[string]any{"wind": "north"}}},
		PriceFunc: func(*http.Request) (string, error) {
			if price := p.price.Load(); price != nil {
				return *price, nil
			}
			return "", nil
		},
		CreditBundle: &paywall.CreditBundle{
			PurchaseURL: origin + "/buy", Tiers: []paywall.Tier{{Name: "Small", USDCents: 500, Requests: 25}, {Name: "Large", USDCents: 2000, Requests: 120}},
			ValidateAndDeduct: func(context.Context, string) (paywall.BundleResult, error) { return paywall.BundleResult{}, nil },
		},
	})
	require.NoError(t, err)
	srv.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if p.broken.Load() {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		p.served.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"wind": "north <b>8</b>"}`)
	}))
	srv.Start()
	t.Cleanup(srv.Close)
	return p
}

// wallet puts a wallet into the browser.
func (p *report) wallet(ctx context.Context, t *testing.T, key devchain.Wallet) *wallet {
	t.Helper()
	own := &wallet{Wallet: key, chain: "0x1", knows: true}
	own.install(ctx, t)
	return own
}

// TestPersonPaysThePaywall: with a wallet in the browser, which is on another network at
// first, without gas and without an account.
func TestPersonPaysThePaywall(t *testing.T) {
	t.Parallel()
	p := behindPaywall(t)
	for i, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := scripted(t, w)
			quiet(ctx, t)
			own := p.wallet(ctx, t, devchain.Wallets()[2+i])
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(p.url), visible("button.pay")))
			accessible(ctx, t, "paywall-"+w.name)
			before := p.served.Load()
			require.NoError(t, chromedp.Do(ctx, click("button.pay"), visible("#content pre")))
			require.JSONEq(t, `{"wind": "north <b>8</b>"}`, text(ctx, t, "#content pre"))
			require.Greater(t, p.served.Load(), before)
			require.Equal(t, []string{"eth_requestAccounts", "eth_chainId", "wallet_switchEthereumChain", "eth_chainId", "eth_signTypedData_v4"}, own.asked)
			accessible(ctx, t, "paywall-paid-"+w.name)
			saved, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.getElementById("save").download`))
			require.NoError(t, err)
			require.Equal(t, "october", saved)
		})
	}
}

// TestPaywallWithoutAWallet: the page names the other ways, and works without JavaScript.
func TestPaywallWithoutAWallet(t *testing.T) {
	t.Parallel()
	p := behindPaywall(t)
	ctx := browser(t, widths[0])
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(p.url), visible("noscript p")))
	require.Contains(t, text(ctx, t, "main"), "0.25 USDC")
	require.Contains(t, text(ctx, t, "main"), "Buy a bundle")
	ctx = scripted(t, widths[0])
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(p.url), visible("#none")))
	shoot(ctx, t, "paywall-no-wallet")
}

// TestPaywallIsPaidOnce: what goes wrong is shown, nothing is signed for another price, and a
// payment without an answer is repeated instead of made a second time, also after the page
// was loaded again.
func TestPaywallIsPaidOnce(t *testing.T) {
	t.Parallel()
	p := behindPaywall(t)
	ctx := scripted(t, widths[0])
	own := p.wallet(ctx, t, devchain.EmptyWallet())
	open := func() {
		t.Helper()
		require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(p.url), visible("button.pay")))
	}
	fails := func(words string) {
		t.Helper()
		require.NoError(t, chromedp.Do(ctx, click("button.pay")))
		shows(ctx, t, words)
	}
	open()
	fails("The payment was refused.")
	shoot(ctx, t, "paywall-refused")
	own.set(func() { own.Wallet, own.refuses = devchain.Wallets()[4], "eth_signTypedData_v4" })
	fails("You refused to sign. Nothing was paid.")
	dearer := "2.50"
	p.price.Store(&dearer)
	fails("The price has changed.")
	require.Zero(t, p.served.Load())
	p.price.Store(nil)

	own.set(func() { own.asked = nil })
	p.broken.Store(true)
	fails("The payment may have been made")
	shoot(ctx, t, "paywall-unanswered")
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(p.url), visible("#again")))
	p.broken.Store(false)
	require.NoError(t, chromedp.Do(ctx, click("#again"), visible("#content pre")))
	require.EqualValues(t, 1, p.served.Load())
	signed := 0
	for _, method := range own.asked {
		if method == "eth_signTypedData_v4" {
			signed++
		}
	}
	require.Equal(t, 1, signed, "one payment")
	open()
}
