package server_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// upstream is a catalog with n entries, whose text is hostile.
func upstream(t *testing.T, n int) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"version":1,"services":[{"name":"<script>alert(1)</script> $(id)","serviceUrl":"https://shop.example","categories":["data"],"endpoints":[`)
		for i := range n {
			if i > 0 {
				_, _ = fmt.Fprint(w, ",")
			}
			_, _ = fmt.Fprintf(w, `{"method":"GET","path":"/a/%d?x='$(id)'","description":"javascript:alert(1) http://evil.example","payment":{"intent":"charge","method":"evm","currency":"usd","decimals":6,"amount":"%d"}}`, i, 1000*(i+1))
		}
		_, _ = fmt.Fprint(w, `]}]}`)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func withUpstream(t *testing.T, n int) caller {
	t.Helper()
	up := upstream(t, n)
	c := setup(t, &servertest.Options{Configure: func(cfg *server.Config) {
		cfg.Upstreams = []server.Upstream{{Name: "up", Kind: server.UpstreamMPP, URL: up}}
	}})
	require.Eventually(t, func() bool {
		return len(c.do(t, "GET", "/v1/market?limit=100", "").ok(t).Body["data"].([]any)) == n
	}, time.Minute, 50*time.Millisecond)
	return c
}

func TestMarketIsSearchedAndPaged(t *testing.T) {
	t.Parallel()
	c := withUpstream(t, 25)
	var seen []string
	p := client.MarketParams{Category: "data", Protocol: "mpp", MinPriceMicros: 5000, MaxPriceMicros: 20_000, Limit: 7}
	for {
		page, err := c.Client().Market(t.Context(), p)
		require.NoError(t, err)
		for _, e := range page.Data {
			seen = append(seen, e.URL)
			require.Equal(t, []string{"upstream:up"}, e.Sources)
		}
		if p.Cursor = page.NextCursor; p.Cursor == "" {
			break
		}
	}
	require.Len(t, seen, 16)
	for query, param := range map[string]string{
		"limit=0": "limit", "limit=x": "limit", "cursor=x": "cursor", "method=BREW": "method", "protocol=x": "protocol", "maxPriceMicros=-1": "maxPriceMicros",
		"minPriceMicros=5&maxPriceMicros=4": "minPriceMicros", "q=%00": "q",
	} {
		require.Equal(t, param, c.do(t, "GET", "/v1/market?"+query, "").refused(t, 400, "validation_error").str("param"), query)
	}
	for _, bad := range []string{"", "shop.example", "https://shop.example/a", "ftp://shop.example", "http://u:p@127.0.0.1", "http://127.0.0.1:1"} {
		e := c.do(t, "POST", "/v1/market/servers", fmt.Sprintf(`{"baseUrl":%q}`, bad)).refused(t, 400, "validation_error")
		require.Equal(t, "baseUrl", e.str("param"), bad)
	}
	c.do(t, "DELETE", "/v1/market/servers/srv_x", "").refused(t, 404, "not_found")
}

// TestMarketPageShowsStrangersTextAsText: nothing of a stranger is a link or HTML.
func TestMarketPageShowsStrangersTextAsText(t *testing.T) {
	t.Parallel()
	c := withUpstream(t, 25)
	get := func(query string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+"/market"+query, http.NoBody)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(text)
	}
	status, page := get("?" + url.Values{"q": {"shop"}, "most": {"0.02"}}.Encode())
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "&lt;script&gt;alert(1)&lt;/script&gt;")
	require.NotContains(t, page, "<script>alert")
	require.NotContains(t, page, `href="http`)
	require.NotContains(t, page, `href="javascript`)
	require.Regexp(t, `<dd>\$0\.0[0-2][0-9]?</dd>`, page)
	require.Contains(t, page, "Next page")
	require.Contains(t, page, `curl -i &#39;https://shop.example/a/`)
	require.Contains(t, page, `&#39;\&#39;&#39;$(id)`)
	for _, most := range []string{"much", "NaN", "1e3", "-1", "0"} {
		status, page = get("?most=" + most)
		require.Equal(t, http.StatusBadRequest, status, most)
		require.Contains(t, page, "The highest price must be an amount")
	}
	status, page = get("?q=nothingofthat")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Nothing found")
}

func TestUpstreamsAreChecked(t *testing.T) {
	t.Parallel()
	good := server.Upstream{Name: "a", Kind: server.UpstreamX402, URL: "https://catalog.example/discovery/resources"}
	require.NoError(t, server.CheckUpstreams([]server.Upstream{good}))
	for _, change := range []func(*server.Upstream){
		func(u *server.Upstream) { u.Name = "" }, func(u *server.Upstream) { u.Name = "A b" }, func(u *server.Upstream) { u.Kind = "rss" },
		func(u *server.Upstream) { u.URL = "http://catalog.example" }, func(u *server.Upstream) { u.URL = "" }, func(u *server.Upstream) { u.URL = "https://a:b@c.example" },
	} {
		u := good
		change(&u)
		require.Error(t, server.CheckUpstreams([]server.Upstream{u}))
	}
	require.Error(t, server.CheckUpstreams([]server.Upstream{good, good}))
}
