package bundle_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall/bundle"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// come opens an address of the shop, as a program or as a browser does.
func (w *world) come(t *testing.T, address, accept string) *httptest.ResponseRecorder {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, u.RequestURI(), http.NoBody)
	r.Header.Set("Accept", accept)
	rec := httptest.NewRecorder()
	w.Purchase().ServeHTTP(rec, r)
	if rec.Code != http.StatusSeeOther {
		return rec
	}
	// A browser follows, with the cookie.
	to, err := rec.Result().Location()
	require.NoError(t, err)
	require.NotContains(t, to.String(), u.Query().Get("key"))
	require.NotContains(t, to.String(), u.Query().Get("sig"))
	r = httptest.NewRequestWithContext(t.Context(), http.MethodGet, to.RequestURI(), http.NoBody)
	r.Header.Set("Accept", accept)
	for _, c := range rec.Result().Cookies() {
		require.True(t, c.HttpOnly && c.Secure && strings.HasPrefix(c.Name, "__Host-"), "%+v", c)
		r.AddCookie(c)
	}
	rec = httptest.NewRecorder()
	w.Purchase().ServeHTTP(rec, r)
	return rec
}

// payAt fills in the form of a checkout's page.
func payAt(t *testing.T, page, method string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page, strings.NewReader(url.Values{"method": {method}}.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := c.Do(r)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode, string(text))
}

// TestCheckoutBuysABundleOnce: however often the order, the page and the return
// address are sent, one payment is made and one bundle issued.
func TestCheckoutBuysABundleOnce(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	w := setup(t, func(cfg *bundle.Config) { cfg.Sell = bundle.ByCheckout(srv.Client()) })
	const order, key = `{"tier":"small"}`, "nobody can guess this key"
	asked := w.post(order, "Idempotency-Key", key)
	require.Equal(t, http.StatusAccepted, asked.Code, asked.Body.String())
	checkout, back := object(t, asked)["checkoutUrl"].(string), object(t, asked)["returnUrl"].(string)
	require.True(t, strings.HasPrefix(checkout, srv.URL+"/checkout/chk_"), checkout)
	require.Equal(t, asked.Body.String(), w.post(order, "Idempotency-Key", key).Body.String())
	early := w.come(t, back, "application/json")
	require.Equal(t, []any{http.StatusAccepted, checkout}, []any{early.Code, object(t, early)["checkoutUrl"]})
	require.Contains(t, w.come(t, back, "text/html").Body.String(), "Not paid yet")

	var token string
	for range 3 {
		payAt(t, checkout, "card_visa")
		bought := object(t, w.post(order, "Idempotency-Key", key))
		returned := object(t, w.come(t, back, "application/json"))
		require.Equal(t, bought, returned)
		if token == "" {
			token = bought["bundleToken"].(string)
		}
		require.Equal(t, token, bought["bundleToken"])
		page := w.come(t, back, "text/html").Body.String()
		require.Contains(t, page, "Your bundle")
		require.Contains(t, page, token)
		require.Contains(t, page, "<dd>2 of 2</dd>")
	}
	got, err := w.ValidateAndDeduct(t.Context(), token)
	require.NoError(t, err)
	require.True(t, got.Valid)
	require.EqualValues(t, 1, object(t, w.come(t, back, "application/json"))["creditsRemaining"], "what was used stays used")
	stats, err := srv.Client().Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{1, 500}, []int64{stats.TransactionCount, stats.TotalVolumeCents})
}

// TestOrderIsShownToItsBrowserAlone: the address to which a browser is redirected has no
// secret, so it shows nothing without the cookie, or with that of another order.
func TestOrderIsShownToItsBrowserAlone(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	w := setup(t, func(cfg *bundle.Config) { cfg.Sell = bundle.ByCheckout(srv.Client()) })
	redirect := func(key string) (to string, cookie *http.Cookie) {
		asked := object(t, w.post(`{"tier":"small"}`, "Idempotency-Key", key))
		payAt(t, asked["checkoutUrl"].(string), "card_visa")
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, asked["returnUrl"].(string), http.NoBody)
		r.Header.Set("Accept", "text/html")
		rec := httptest.NewRecorder()
		w.Purchase().ServeHTTP(rec, r)
		require.Equal(t, http.StatusSeeOther, rec.Code)
		return rec.Header().Get("Location"), rec.Result().Cookies()[0]
	}
	to, own := redirect("the key of the first order")
	_, other := redirect("the key of another order")
	for cookie, want := range map[*http.Cookie]int{
		own: http.StatusOK, other: http.StatusForbidden, nil: http.StatusForbidden, {Name: own.Name, Value: "a.b.c"}: http.StatusForbidden,
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, to, http.NoBody)
		if cookie != nil {
			r.AddCookie(cookie)
		}
		rec := httptest.NewRecorder()
		w.Purchase().ServeHTTP(rec, r)
		require.Equal(t, want, rec.Code)
		require.Equal(t, want == http.StatusOK, strings.Contains(rec.Body.String(), `id="token"`))
	}
}

// TestFormLeadsToTheCheckoutAndBack: a browser has no key; the return address has.
func TestFormLeadsToTheCheckoutAndBack(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	w := setup(t, func(cfg *bundle.Config) { cfg.Sell = bundle.ByCheckout(srv.Client()) })
	rec := w.post(url.Values{"tier": {"large"}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, http.StatusSeeOther, rec.Code)
	checkout := rec.Header().Get("Location")
	payAt(t, checkout, "card_visa")
	resp, err := http.Get(checkout)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	http.DefaultClient.CloseIdleConnections()
	_, rest, found := strings.Cut(string(text), `href="`+issuer+"/bundles?")
	require.True(t, found, string(text))
	query, _, _ := strings.Cut(rest, `"`)
	back := issuer + "/bundles?" + strings.ReplaceAll(query, "&amp;", "&")
	require.EqualValues(t, 9, object(t, w.come(t, back, "application/json"))["creditsRemaining"])
}

func TestCheckoutsThatBuyNothing(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	w := setup(t, func(cfg *bundle.Config) { cfg.Sell = bundle.ByCheckout(srv.Client()) })
	asked := object(t, w.post(`{"tier":"small"}`, "Idempotency-Key", "nobody can guess this key"))
	payAt(t, asked["checkoutUrl"].(string), "card_decline_after_setup")
	for _, rec := range []*httptest.ResponseRecorder{
		w.post(`{"tier":"small"}`, "Idempotency-Key", "nobody can guess this key"), w.come(t, asked["returnUrl"].(string), "application/json"),
	} {
		require.Equal(t, http.StatusPaymentRequired, rec.Code)
		require.Equal(t, "checkout_failed", object(t, rec)["code"])
	}
	require.Contains(t, w.come(t, asked["returnUrl"].(string), "text/html").Body.String(), "Choose again")
	for _, unknown := range []string{"?key=short&tier=small", "?key=nobody+can+guess+this+key&tier=huge", "?key="} {
		require.Equal(t, http.StatusNotFound, w.come(t, issuer+"/bundles"+unknown, "application/json").Code)
	}
	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	require.Equal(t, http.StatusCreated, w.post(fmt.Sprintf(`{"tier":"small","mandate":%q}`, m)).Code, "a mandate needs no page")
}

// TestGETMakesNoOrder: a crawler, or a stranger with any key, makes no checkout. Only
// an address that the shop gave out is asked about.
func TestGETMakesNoOrder(t *testing.T) {
	t.Parallel()
	next, err := bundle.HS256("k2", []byte(strings.Repeat("n", 32)))
	require.NoError(t, err)
	sold := 0
	count := func(c *bundle.Config) {
		c.Sell = func(context.Context, bundle.Order) (bundle.Sale, error) {
			sold++
			return bundle.Sale{CheckoutURL: "https://pay.example/checkout"}, nil
		}
	}
	w := setup(t, count)
	back := object(t, w.post(`{"tier":"small"}`, "Idempotency-Key", "nobody can guess this key"))["returnUrl"].(string)
	require.Equal(t, 1, sold)
	stranger := setup(t, func(c *bundle.Config) { count(c); c.Keys = []bundle.Key{next} })
	foreign := object(t, stranger.post(`{"tier":"small"}`, "Idempotency-Key", "nobody can guess this key"))["returnUrl"].(string)
	sold = 0
	for name, address := range map[string]string{
		"no signature":      issuer + "/bundles?key=nobody+can+guess+this+key&tier=small",
		"another key":       strings.Replace(back, "nobody", "anybody", 1),
		"another tier":      strings.Replace(back, "tier=small", "tier=large", 1),
		"another's keys":    foreign,
		"changed signature": strings.Replace(back, "sig=", "sig=A", 1),
	} {
		for _, accept := range []string{"text/html", "application/json"} {
			require.Equal(t, http.StatusNotFound, w.come(t, address, accept).Code, name)
		}
	}
	require.Zero(t, sold)
	rotated := setup(t, func(c *bundle.Config) { count(c); c.Keys = []bundle.Key{next, c.Keys[0]} })
	require.Equal(t, http.StatusAccepted, rotated.come(t, back, "application/json").Code)
	require.Equal(t, 1, sold)
}

var _ bundle.Cashier = (*client.Client)(nil)
