package bundle_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/paywall/bundle"
	"github.com/paywarrant/paywarrant/server/servertest"
)

const issuer = "https://api.example.com"

type clock struct{ ms atomic.Int64 }

func (c *clock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

type world struct {
	*bundle.Shop
	clock *clock
	cfg   bundle.Config
}

func setup(t *testing.T, change func(*bundle.Config)) *world {
	t.Helper()
	key, err := bundle.HS256("k1", []byte(strings.Repeat("k", 32)))
	require.NoError(t, err)
	w := &world{clock: &clock{}}
	w.clock.ms.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixMilli())
	w.cfg = bundle.Config{
		Issuer: issuer, Keys: []bundle.Key{key}, Tiers: []paywall.Tier{{Name: "small", USDCents: 500, Requests: 2}, {Name: "large", USDCents: 900, Requests: 9}},
		PurchaseURL: issuer + "/bundles", BalanceURL: issuer + "/bundles/balance", Clock: w.clock.Now,
	}
	if change != nil {
		change(&w.cfg)
	}
	w.Shop, err = bundle.New(w.cfg)
	require.NoError(t, err)
	return w
}

func (w *world) issue(t *testing.T, order string) bundle.Issued {
	t.Helper()
	b, err := w.Issue(t.Context(), order, "small", "acme")
	require.NoError(t, err)
	return b
}

// post sends an order; headers are pairs of name and value.
func (w *world) post(body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/bundles", strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.Purchase().ServeHTTP(rec, r)
	return rec
}

func (w *world) balance(token string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/bundles/balance", http.NoBody)
	r.Header.Set("X-Bundle-Token", token)
	rec := httptest.NewRecorder()
	w.Balance().ServeHTTP(rec, r)
	return rec
}

func object(t *testing.T, rec *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &m), rec.Body.String())
	return m
}

func TestCreditsAreTakenAndGivenBack(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	b := w.issue(t, "order-1")
	require.Equal(t, b, w.issue(t, "order-1"), "one order is one bundle")
	ctx := t.Context()
	for left := int64(1); left >= 0; left-- {
		got, err := w.ValidateAndDeduct(ctx, b.Token)
		require.NoError(t, err)
		require.Equal(t, paywall.BundleResult{Valid: true, CreditsRemaining: left, TenantID: "acme"}, got)
	}
	got, err := w.ValidateAndDeduct(ctx, b.Token)
	require.NoError(t, err)
	require.False(t, got.Valid)
	require.InDelta(t, 0, object(t, w.balance(b.Token))["creditsRemaining"], 0)
	require.NoError(t, w.Refund(ctx, b.Token))
	require.InDelta(t, 1, object(t, w.balance(b.Token))["creditsRemaining"], 0)
	require.InDelta(t, 1, object(t, w.balance(b.Token))["creditsRemaining"], 0, "asking takes none")
	require.ErrorIs(t, w.Refund(ctx, "nonsense"), bundle.ErrToken)
	_, err = w.Issue(ctx, "order-1", "large", "acme")
	require.Error(t, err)
	_, err = w.Issue(ctx, "order-2", "huge", "acme")
	require.Error(t, err)

	w.clock.ms.Add((bundle.DefaultLife + 2*time.Minute).Milliseconds())
	got, err = w.ValidateAndDeduct(ctx, b.Token)
	require.NoError(t, err)
	require.False(t, got.Valid)
	require.Equal(t, http.StatusUnauthorized, w.balance(b.Token).Code)
}

// The algorithm is the key's, and a token is of this shop or none.
func TestForgedTokensAreNotValid(t *testing.T) {
	t.Parallel()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	es, err := bundle.ES256("e1", private)
	require.NoError(t, err)
	w := setup(t, func(c *bundle.Config) { c.Keys = append(c.Keys, es) })
	good := w.issue(t, "order-1")
	secret := []byte(strings.Repeat("k", 32))
	public, err := private.PublicKey.ECDH()
	require.NoError(t, err)
	sign := func(m jwt.SigningMethod, key any, kid, typ string, change func(jwt.MapClaims)) string {
		t.Helper()
		c := jwt.MapClaims{"iss": issuer, "aud": issuer, "jti": good.ID, "iat": w.clock.Now().Unix(), "exp": w.clock.Now().Add(time.Hour).Unix()}
		if change != nil {
			change(c)
		}
		token := jwt.NewWithClaims(m, c)
		token.Header["kid"], token.Header["typ"] = kid, typ
		text, err := token.SignedString(key)
		require.NoError(t, err)
		return text
	}
	const typ = "credit-bundle+jwt"
	require.True(t, valid(t, w, sign(jwt.SigningMethodHS256, secret, "k1", typ, nil)), "or this test shows nothing")
	require.True(t, valid(t, w, sign(jwt.SigningMethodES256, private, "e1", typ, nil)))
	parts := strings.Split(good.Token, ".")
	for name, token := range map[string]string{
		"none":             sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "k1", typ, nil),
		"no signature":     parts[0] + "." + parts[1] + ".",
		"public as secret": sign(jwt.SigningMethodHS256, public.Bytes(), "e1", typ, nil),
		"other algorithm":  sign(jwt.SigningMethodHS384, secret, "k1", typ, nil),
		"other key":        sign(jwt.SigningMethodHS256, []byte(strings.Repeat("x", 32)), "k1", typ, nil),
		"unknown key id":   sign(jwt.SigningMethodHS256, secret, "k2", typ, nil),
		"other type":       sign(jwt.SigningMethodHS256, secret, "k1", "JWT", nil),
		"other issuer":     sign(jwt.SigningMethodHS256, secret, "k1", typ, func(c jwt.MapClaims) { c["iss"] = "https://evil.example" }),
		"other audience":   sign(jwt.SigningMethodHS256, secret, "k1", typ, func(c jwt.MapClaims) { c["aud"] = "https://evil.example" }),
		"no end":           sign(jwt.SigningMethodHS256, secret, "k1", typ, func(c jwt.MapClaims) { delete(c, "exp") }),
		"expired":          sign(jwt.SigningMethodHS256, secret, "k1", typ, func(c jwt.MapClaims) { c["exp"] = w.clock.Now().Add(-2 * time.Minute).Unix() }),
		"no bundle":        sign(jwt.SigningMethodHS256, secret, "k1", typ, func(c jwt.MapClaims) { delete(c, "jti") }),
		"another's bundle": sign(jwt.SigningMethodHS256, secret, "k1", typ, func(c jwt.MapClaims) { c["jti"] = "bun_x" }),
		"empty":            "", "garbage": "a.b.c", "long": strings.Repeat("a", 1<<20),
	} {
		require.False(t, valid(t, w, token), name)
		require.Equal(t, http.StatusUnauthorized, w.balance(strings.TrimSpace(token)).Code, name)
	}
}

func valid(t *testing.T, w *world, token string) bool {
	t.Helper()
	got, err := w.ValidateAndDeduct(t.Context(), token)
	require.NoError(t, err)
	return got.Valid
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	store := bundle.NewMemory()
	w := setup(t, func(c *bundle.Config) { c.Store = store })
	old := w.issue(t, "order-1")
	next, err := bundle.HS256("k2", []byte(strings.Repeat("n", 32)))
	require.NoError(t, err)
	both := setup(t, func(c *bundle.Config) { c.Store, c.Keys = store, []bundle.Key{next, c.Keys[0]} })
	require.True(t, valid(t, both, old.Token))
	fresh := both.issue(t, "order-1")
	require.Equal(t, old.ID, fresh.ID)
	after := setup(t, func(c *bundle.Config) { c.Store, c.Keys = store, []bundle.Key{next} })
	require.True(t, valid(t, after, fresh.Token))
	require.False(t, valid(t, after, old.Token))
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", next, both.cfg, next), "nnnn")
}

func TestStoreDownIsNoVerdict(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *bundle.Config) { c.Store = broken{} })
	token := setup(t, nil).issue(t, "order-1").Token
	_, err := w.ValidateAndDeduct(t.Context(), token)
	require.Error(t, err)
	rec := w.balance(token)
	require.Equal(t, http.StatusServiceUnavailable, rec.Code)
	require.NotEmpty(t, rec.Header().Get("Retry-After"))
}

type broken struct{ bundle.Store }

func (broken) Deduct(context.Context, string, time.Time) (bundle.Bundle, error) {
	return bundle.Bundle{}, errors.New("down")
}

func (broken) Read(context.Context, string) (bundle.Bundle, error) {
	return bundle.Bundle{}, errors.New("down")
}

func TestMandateBuysABundleThatOpensTheGate(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	c := srv.Client()
	w := setup(t, func(cfg *bundle.Config) { cfg.Sell = bundle.ByMandate(c) })
	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	order := fmt.Sprintf(`{"tier":"small","mandate":%q}`, m)
	rec := w.post(order, "Idempotency-Key", "a")
	require.Equal(t, http.StatusCreated, rec.Code, rec.Body.String())
	bought := object(t, rec)
	require.InDelta(t, 2, bought["creditsRemaining"], 0)
	require.Equal(t, rec.Body.String(), w.post(order, "Idempotency-Key", "a").Body.String(), "repeated, not bought again")
	stats, err := c.Stats(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{1, 500}, []int64{stats.TransactionCount, stats.TotalVolumeCents})
	other := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 600, MaxMonthlySpendCents: 5000})
	stranger := object(t, w.post(fmt.Sprintf(`{"tier":"small","mandate":%q}`, other), "Idempotency-Key", "a"))
	require.NotEqual(t, bought["bundleToken"], stranger["bundleToken"], "another's key gets nothing of it")

	status := http.StatusInternalServerError
	gate, err := paywall.New(paywall.Config{
		Price: "0.01", PayTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", APIURL: srv.URL, TestMode: true,
		Resource: "https://api.example.com/weather", CreditBundle: w.CreditBundle(),
	})
	require.NoError(t, err)
	h := gate.Require(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(status) }))
	ask := func() *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/weather", http.NoBody)
		r.Header.Set("X-Bundle-Token", bought["bundleToken"].(string))
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		return rec
	}
	for range 5 {
		require.Equal(t, http.StatusInternalServerError, ask().Code, "the credit of what was not served comes back")
	}
	status = http.StatusOK
	for left := 1; left >= 0; left-- {
		rec := ask()
		require.Equal(t, http.StatusOK, rec.Code)
		require.Equal(t, fmt.Sprint(left), rec.Header().Get("X-Bundle-Credits-Remaining"))
	}
	rec = ask()
	require.Equal(t, http.StatusPaymentRequired, rec.Code)
	require.Equal(t, issuer+"/bundles", object(t, rec)["purchaseUrl"])
}

// counted counts the bundles that are made.
type counted struct {
	bundle.Store
	made atomic.Int64
}

func (c *counted) Create(ctx context.Context, b bundle.Bundle) error {
	c.made.Add(1)
	return c.Store.Create(ctx, b)
}

func TestRefusedPaymentsBuyNothing(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	store := &counted{Store: bundle.NewMemory()}
	w := setup(t, func(cfg *bundle.Config) { cfg.Sell, cfg.Store = bundle.ByMandate(srv.Client()), store })
	mandate := func(perTx int64, card string) string {
		return srv.Mandate(t, servertest.Terms{MaxPerTxCents: perTx, MaxMonthlySpendCents: 5000, PaymentMethods: []string{card}})
	}
	for name, tc := range map[string]struct {
		mandate, code string
		status        int
	}{
		"none":          {"", "payment_required", 402},
		"per tx":        {mandate(499, "card_visa"), "per_tx", 402},
		"declined":      {mandate(500, "card_decline_after_setup"), "card_declined", 402},
		"not a mandate": {"dtok_x", "validation_error", 400},
	} {
		order := fmt.Sprintf(`{"tier":"small","mandate":%q}`, tc.mandate)
		for range 2 { // nor when the order is repeated
			rec := w.post(order, "Idempotency-Key", "sixteen bytes or more")
			require.Equal(t, tc.status, rec.Code, name+rec.Body.String())
			require.Equal(t, tc.code, object(t, rec)["code"], name)
			require.NotContains(t, rec.Body.String(), "bundleToken", name)
		}
	}
	require.Zero(t, store.made.Load())
	charged := func() []int64 {
		stats, err := srv.Client().Stats(t.Context())
		require.NoError(t, err)
		return []int64{stats.TransactionCount, stats.TotalVolumeCents}
	}
	require.Equal(t, []int64{0, 0}, charged())
	require.Equal(t, 201, w.post(fmt.Sprintf(`{"tier":"small","mandate":%q}`, mandate(500, "card_visa"))).Code)
	require.Equal(t, []int64{1, 500}, charged(), "or this test shows nothing")
	require.EqualValues(t, 1, store.made.Load())
}

func TestCheckoutLinkAndLaterIssue(t *testing.T) {
	t.Parallel()
	var orders []bundle.Order
	w := setup(t, func(c *bundle.Config) {
		c.Sell = func(_ context.Context, o bundle.Order) (bundle.Sale, error) {
			orders = append(orders, o)
			return bundle.Sale{CheckoutURL: "https://pay.example/checkout/" + o.ID}, nil
		}
	})
	rec := w.post(`{"tier":"large"}`, "Idempotency-Key", "sixteen bytes or more")
	require.Equal(t, http.StatusAccepted, rec.Code)
	require.Equal(t, "https://pay.example/checkout/"+orders[0].ID, object(t, rec)["checkoutUrl"])
	w.post(`{"tier":"large"}`, "Idempotency-Key", "sixteen bytes or more")
	require.Equal(t, orders[0], orders[1])
	rec = w.post(url.Values{"tier": {"small"}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	require.Equal(t, http.StatusSeeOther, rec.Code)
	require.Equal(t, "https://pay.example/checkout/"+orders[2].ID, rec.Header().Get("Location"))
	require.NotEqual(t, orders[0].ID, orders[2].ID)
	b, err := w.Issue(t.Context(), orders[0].ID, "large", "acme")
	require.NoError(t, err)
	require.True(t, valid(t, w, b.Token))
}

func TestOrdersThatCannotBeTaken(t *testing.T) {
	t.Parallel()
	sale, errSale := bundle.Sale{}, error(nil)
	w := setup(t, func(c *bundle.Config) {
		c.Sell = func(context.Context, bundle.Order) (bundle.Sale, error) { return sale, errSale }
	})
	for body, status := range map[string]int{
		`{"tier":"huge"}`: 400, `nonsense`: 400, ``: 400, `{"tier":1}`: 400, strings.Repeat("x", 300<<10): 413,
	} {
		require.Equal(t, status, w.post(body).Code, body[:min(len(body), 20)])
	}
	require.Equal(t, 400, w.post(`{"tier":"small"}`, "Idempotency-Key", "guessable").Code)
	for _, s := range []bundle.Sale{{}, {CheckoutURL: "javascript:alert(1)"}, {CheckoutURL: "/relative"}} {
		sale = s
		require.Equal(t, http.StatusServiceUnavailable, w.post(`{"tier":"small"}`).Code)
	}
	errSale = errors.New("the processor's secret words")
	rec := w.post(`{"tier":"small"}`)
	require.Equal(t, http.StatusServiceUnavailable, rec.Code)
	require.NotContains(t, rec.Body.String(), "secret words")
	require.NotEmpty(t, rec.Header().Get("Retry-After"))
	require.Equal(t, http.StatusNotFound, setup(t, nil).post(`{"tier":"small"}`).Code, "nothing is sold by POST")
}

func TestTiersAreListedAndShown(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *bundle.Config) { c.Tiers[0].Name = `<script>"` })
	get := func(method, accept string) *http.Response {
		r := httptest.NewRequestWithContext(t.Context(), method, "/bundles", http.NoBody)
		r.Header.Set("Accept", accept)
		rec := httptest.NewRecorder()
		w.Purchase().ServeHTTP(rec, r)
		return rec.Result()
	}
	text := func(r *http.Response) string {
		data, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return string(data)
	}
	listed := get(http.MethodGet, "application/json")
	require.Equal(t, "no-store", listed.Header.Get("Cache-Control"))
	var list struct{ Tiers []paywall.Tier }
	require.NoError(t, json.Unmarshal([]byte(text(listed)), &list))
	require.Equal(t, w.cfg.Tiers, list.Tiers)
	page := get(http.MethodGet, "text/html,*/*;q=0.8")
	require.Contains(t, page.Header.Get("Content-Security-Policy"), "default-src 'none'")
	html := text(page)
	require.NotContains(t, page.Header.Get("Content-Security-Policy"), "unsafe")
	require.Contains(t, html, "<main>")
	require.Contains(t, html, "$9.00")
	require.Equal(t, http.StatusMethodNotAllowed, get(http.MethodDelete, "").StatusCode)
}

func TestWrongConfigurationIsNamed(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*bundle.Config){
		"Issuer":         func(c *bundle.Config) { c.Issuer = "api" },
		"PurchaseURL":    func(c *bundle.Config) { c.PurchaseURL = "/bundles" },
		"BalanceURL":     func(c *bundle.Config) { c.BalanceURL = "" },
		"Keys, Tiers":    func(c *bundle.Config) { c.Keys = nil },
		"Keys[0]":        func(c *bundle.Config) { c.Keys = []bundle.Key{{}} },
		"Keys[1]":        func(c *bundle.Config) { c.Keys = append(c.Keys, c.Keys[0]) },
		"Tiers[1]":       func(c *bundle.Config) { c.Tiers = append(c.Tiers[:1:1], c.Tiers[0]) },
		"Life":           func(c *bundle.Config) { c.Life = -1 },
		"APIURL":         func(c *bundle.Config) { c.APIURL = "api" },
		"TrustedProxies": func(c *bundle.Config) { c.TrustedProxies = []netip.Prefix{{}} },
	} {
		c := setup(t, nil).cfg
		change(&c)
		_, err := bundle.New(c)
		require.ErrorContains(t, err, "bundle: "+field)
	}
	_, err := bundle.HS256("k", []byte("short"))
	require.Error(t, err)
	key, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	_, err = bundle.ES256("k", key)
	require.Error(t, err)
}
