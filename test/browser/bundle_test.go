package browser_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/paywall/bundle"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// TestPersonBuysABundle: from the list, over the checkout, back to the token, whose address
// holds no secret.
func TestPersonBuysABundle(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, &servertest.Options{Merchant: server.MerchantParams{Name: "Aurora Data", Website: "https://aurora.example"}})
	shopServer := httptest.NewUnstartedServer(nil)
	origin := "http://" + shopServer.Listener.Addr().String()
	key, err := bundle.HS256("k1", []byte("thirty-two bytes, which tests use"))
	require.NoError(t, err)
	shop, err := bundle.New(bundle.Config{
		Issuer: origin, Keys: []bundle.Key{key}, PurchaseURL: origin + "/bundles", BalanceURL: origin + "/balance", Sell: bundle.ByCheckout(srv.Client()),
		Tiers: []paywall.Tier{{Name: "Small", USDCents: 500, Requests: 25}, {Name: "Large", USDCents: 2000, Requests: 120}},
	})
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.Handle("/bundles", shop.Purchase())
	shopServer.Config.Handler = mux
	shopServer.Start()
	t.Cleanup(shopServer.Close)
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := scripted(t, w)
			quiet(ctx, t)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(origin+"/bundles"), visible("form button")))
			accessible(ctx, t, "bundles-"+w.name)
			require.NoError(t, chromedp.Do(ctx, click("form button"), visible(`input[value="card_visa"]`),
				click(`input[value="card_visa"]`), click("button.main"), visible("a.button.main"),
				click("a.button.main"), visible("#token")))
			require.Contains(t, text(ctx, t, "dl"), "25 of 25")
			at, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.search"))
			require.NoError(t, err)
			require.Regexp(t, `^\?order=ord_[0-9a-f]{32}$`, at)
			accessible(ctx, t, "bundle-token-"+w.name)
			require.NoError(t, chromedp.Do(ctx, click("#copy"), visible("#copied")))
		})
	}
}
