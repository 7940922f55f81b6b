package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// catalogOf serves an x402 catalog with hostile text in it.
func catalogOf(n int) http.HandlerFunc {
	var items []string
	for i := range n {
		items = append(items, fmt.Sprintf(`{"resource":"https://shop.example/towns/%d/a-long-path-without-any-space-in-it-that-a-phone-has-to-break","type":"http",
			"x402Version":2,"description":"Weather of town %d <script>document.title='broken'</script>","tags":["weather"],
			"accepts":[{"scheme":"exact","network":"eip155:8453","asset":"0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913","amount":"10000",
			"payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","extra":{"name":"USD Coin"}}]}`, i, i))
	}
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"x402Version":2,"items":[%s],"pagination":{"limit":100,"offset":0,"total":%d}}`, strings.Join(items, ","), n)
	}
}

// TestPersonSearchesTheMarket: pages, a search with no result, a wrong price, and copyable calls.
func TestPersonSearchesTheMarket(t *testing.T) {
	t.Parallel()
	catalog := httptest.NewServer(catalogOf(12))
	t.Cleanup(catalog.Close)
	srv := servertest.Start(t, &servertest.Options{Configure: func(c *server.Config) {
		c.Upstreams = []server.Upstream{{Name: "towns", Kind: server.UpstreamX402, URL: catalog.URL}}
	}})
	require.Eventually(t, func() bool {
		page, err := srv.Client().Market(t.Context(), client.MarketParams{Limit: 100})
		return err == nil && len(page.Data) == 12
	}, time.Minute, 50*time.Millisecond)
	for _, w := range widths {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := scripted(t, w)
			quiet(ctx, t)
			require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(srv.URL+"/market"), visible(".entry"), click(".entry summary"), visible(".entry pre")))
			accessible(ctx, t, "market-"+w.name)
			require.Contains(t, text(ctx, t, ".entry"), "<script>", "it is text")
			require.NoError(t, chromedp.Do(ctx, click(".pages [rel=next]"), visible(".entry")))
			require.NoError(t, chromedp.Do(ctx, fill("#q", "nothing like it"), click("#search .main"), visible(".empty")))
			accessible(ctx, t, "market-none-"+w.name)
			require.NoError(t, chromedp.Do(ctx, fill("#q", "weather"), fill("#most", "a cent"), click("#search .main"), visible("#error")))
			accessible(ctx, t, "market-wrong-"+w.name)
			title, err := chromedp.Run(ctx, chromedp.Title())
			require.NoError(t, err)
			require.NotContains(t, title, "broken")
		})
	}
}
