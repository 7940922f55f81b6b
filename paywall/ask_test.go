package paywall_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

type m = map[string]any

func discovery() *paywall.Discovery {
	return &paywall.Discovery{
		Description: "Full-text search", BodyType: "json",
		InputSchema: m{"type": "object", "properties": m{"q": m{"type": "string"}}, "required": []string{"q"}},
		Output:      paywall.Output{Example: m{"hits": []string{"a"}}, Schema: m{"type": "object", "properties": m{"hits": m{"type": "array"}}}},
	}
}

func challengeOf(t testing.TB, rec *httptest.ResponseRecorder) mpp.Challenge {
	t.Helper()
	list, err := mpp.ParseChallenges(rec.Result().Header.Values("WWW-Authenticate")...)
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return list[0]
}

func TestThreePayloadsSayTheSame(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.Discovery = discovery() })
	rec := w.ask()
	require.Equal(t, http.StatusPaymentRequired, rec.Code)
	require.Zero(t, w.served.Load())
	h := rec.Result().Header
	require.Equal(t, "no-store", h.Get("Cache-Control"))
	require.Equal(t, "application/json", h.Get("Content-Type"))
	require.Equal(t, "PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, WWW-Authenticate, Payment-Receipt, X-Request-Id, Idempotency-Key, Retry-After, X-Bundle-Credits-Remaining", h.Get("Access-Control-Expose-Headers"))
	for _, name := range []string{"X-Bundle-Token", "PAYMENT-SIGNATURE", "X-PAYMENT", "X-Service-Mandate", "Authorization"} {
		require.Contains(t, h.Get("Vary"), name)
	}

	two, err := x402.DecodePaymentRequired(h.Get("PAYMENT-REQUIRED"))
	require.NoError(t, err)
	require.Equal(t, "PAYMENT-SIGNATURE header is required", two.Error)
	require.Equal(t, x402.Resource{URL: resource, Description: "Full-text search", MimeType: "application/json"}, two.Resource)
	require.Equal(t, []x402.Requirements{{
		Scheme: "exact", Network: "eip155:84532", Amount: "10000", Asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e", PayTo: payTo,
		MaxTimeoutSeconds: 60, Extra: m{"name": "USDC", "version": "2", "paymentFlow": "upfront"},
	}}, two.Accepts)
	require.NoError(t, two.Extensions["bazaar"].Validate())
	require.Contains(t, string(two.Extensions["bazaar"].Schema), `"hits"`)
	require.NoError(t, two.Extensions["payment-identifier"].Validate())

	one, err := x402.DecodePaymentRequiredV1(rec.Body.Bytes())
	require.NoError(t, err)
	require.Equal(t, "X-PAYMENT header is required", one.Error)
	require.Equal(t, "base-sepolia", one.Accepts[0].Network)
	require.Equal(t, "10000", one.Accepts[0].MaxAmountRequired)
	require.Equal(t, resource, one.Accepts[0].Resource)
	require.Equal(t, m{"name": "USDC", "version": "2"}, one.Accepts[0].Extra)
	require.Equal(t, []x402.Method{{Type: "mandate", Header: "X-Service-Mandate", Amount: "10000", Currency: "usdc", APIURL: w.service.URL}}, one.PaymentMethods)
	all := body(t, rec)
	require.Equal(t, "payment_required", all["code"])
	require.Equal(t, h.Get("X-Request-Id"), all["requestId"])
	require.Regexp(t, `^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$`, all["requestId"])
	require.Equal(t, string(mpp.ProblemPaymentRequired), all["type"])

	c := challengeOf(t, rec)
	require.Equal(t, []string{"api.example.com", "evm", "charge", "Full-text search"}, []string{c.Realm, c.Method, c.Intent, c.Description})
	expires, err := c.ExpiresAt()
	require.NoError(t, err)
	require.True(t, expires.Equal(w.clock.Now().Add(time.Minute)))
	data, err := mpp.DecodeBase64(c.Request)
	require.NoError(t, err)
	var asked mpp.ChargeRequest
	require.NoError(t, json.Unmarshal(data, &asked))
	require.Equal(t, "10000", asked.Amount)
	require.Equal(t, payTo, asked.Recipient)
	require.Equal(t, mpp.MethodDetails{ChainID: 84532, CredentialTypes: []string{"authorization"}, Decimals: 6}, asked.MethodDetails)
	require.NotEmpty(t, asked.OutputSchema)
	require.NotEqual(t, c.ID, challengeOf(t, w.ask()).ID)
}

func TestLiveModeNamesTheLiveToken(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.TestMode, c.APIURL, c.Price = false, "https://pay.example", "1.25" })
	two, err := x402.DecodePaymentRequired(w.ask().Header().Get("PAYMENT-REQUIRED"))
	require.NoError(t, err)
	got := two.Accepts[0]
	require.Equal(t, "eip155:8453 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913 USD Coin 1250000",
		strings.Join([]string{got.Network, got.Asset, got.Extra["name"].(string), got.Amount}, " "))
}

func TestOtherTokensAreScaled(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) {
		c.Network, c.Asset = "eip155:31337", &paywall.Asset{Address: payTo, Name: "Test", Version: "1", Decimals: 18}
	})
	two, err := x402.DecodePaymentRequired(w.ask().Header().Get("PAYMENT-REQUIRED"))
	require.NoError(t, err)
	require.Equal(t, "10000000000000000", two.Accepts[0].Amount)
	require.Equal(t, "eip155:31337", two.Accepts[0].Network)
}

func TestBundlesAreOffered(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.CreditBundle = bundle(nil) })
	one, err := x402.DecodePaymentRequiredV1(w.ask().Body.Bytes())
	require.NoError(t, err)
	require.Equal(t, x402.Method{
		Type: "credit-bundle", PurchaseURL: "https://api.example.com/buy", BalanceURL: "https://api.example.com/balance",
		Tiers: []x402.Tier{{Name: "Small", USDCents: 500, Requests: 1000}},
	}, one.PaymentMethods[1])
}

func TestHEADGetsHeadersAlone(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	srv := httptest.NewServer(w.protected(w.gate))
	t.Cleanup(srv.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodHead, srv.URL, http.NoBody)
	require.NoError(t, err)
	resp, err := srv.Client().Do(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusPaymentRequired, resp.StatusCode)
	require.NotEmpty(t, resp.Header.Get("PAYMENT-REQUIRED"))
	require.Zero(t, w.served.Load())
}

// TestPageRunsNothingButItsOwn: the policy names the inlined style and script by their hashes,
// and allows nothing else inline.
func TestPageRunsNothingButItsOwn(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.Name = `</script><script>alert("x")</script>` })
	rec := w.ask("Accept", "text/html")
	policy := rec.Result().Header.Get("Content-Security-Policy")
	require.NotContains(t, policy, "unsafe")
	require.Contains(t, policy, "default-src 'none'")
	for _, part := range []string{"style", "script"} {
		_, rest, found := strings.Cut(rec.Body.String(), "<"+part+">")
		require.True(t, found, part)
		inlined, _, _ := strings.Cut(rest, "</"+part+">")
		sum := sha256.Sum256([]byte(inlined))
		require.Contains(t, policy, part+"-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	require.Equal(t, 1, strings.Count(rec.Body.String(), "<script"))
	own := setup(t, func(c *paywall.Config) {
		c.Page = func(out io.Writer, _ *http.Request, _ paywall.PageData) error {
			_, err := io.WriteString(out, "ours")
			return err
		}
	})
	require.Empty(t, own.ask("Accept", "text/html").Result().Header.Get("Content-Security-Policy"), "the merchant's page has the merchant's policy")
}

// TestPageOffersAWalletForGET: a script cannot repeat a request with a body.
func TestPageOffersAWalletForGET(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for method, offers := range map[string]bool{http.MethodGet: true, http.MethodPost: false} {
		r := request(method)
		r.Header.Set("Accept", "text/html")
		require.Equal(t, offers, strings.Contains(w.send(w.gate, r).Body.String(), `id="wallet"`), method)
	}
}

func TestBrowsersGetAPage(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) {
		c.CreditBundle, c.Discovery = bundle(nil), discovery()
		c.Discovery.Description = `<script>alert("x")</script>`
	})
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	rec := w.ask("Accept", browser)
	require.Equal(t, http.StatusPaymentRequired, rec.Code)
	require.Equal(t, "text/html; charset=utf-8", rec.Result().Header.Get("Content-Type"))
	require.NotEmpty(t, rec.Result().Header.Get("PAYMENT-REQUIRED"))
	require.NotEmpty(t, rec.Result().Header.Get("WWW-Authenticate"))
	page := rec.Body.String()
	for _, want := range []string{"0.01 USDC", `href="https://api.example.com/buy"`, "$5.00", resource, "X-Service-Mandate", payTo, "&lt;script&gt;", `lang="en"`} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "<script>alert")

	for _, accept := range []string{"", "*/*", "application/json", "text/html;q=0.5, application/json", "text/html;q=0", "text/html, application/json"} {
		require.Equal(t, "application/json", w.ask("Accept", accept).Result().Header.Get("Content-Type"), accept)
	}
	plain := w.newGate(func(c *paywall.Config) { c.NoPage = true })
	require.Equal(t, "application/json", w.through(plain, "Accept", browser).Result().Header.Get("Content-Type"))
}

func TestAcceptPaymentFilters(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	require.Empty(t, w.ask("Accept-Payment", "tempo/charge").Result().Header.Values("WWW-Authenticate"))
	for _, accept := range []string{"evm/charge", "*/*;q=0.1", "not one of them"} {
		require.Len(t, w.ask("Accept-Payment", accept).Result().Header.Values("WWW-Authenticate"), 1, accept)
	}
}

func TestRequestIDOfAnOuterMiddlewareIsKept(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	rec := httptest.NewRecorder()
	rec.Header().Set("X-Request-Id", "outer-1")
	w.protected(w.gate).ServeHTTP(rec, request(http.MethodGet))
	require.Equal(t, []string{"outer-1"}, rec.Result().Header.Values("X-Request-Id"))
	require.Equal(t, "outer-1", body(t, rec)["requestId"])
}

func TestPriceByRequest(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) {
		c.PriceFunc = func(r *http.Request) (string, error) { return r.Header.Get("X-Price"), nil }
	})
	price := func(asked string) (int, any) {
		rec := w.ask("X-Price", asked)
		if rec.Code != http.StatusPaymentRequired {
			return rec.Code, body(t, rec)["code"]
		}
		one, err := x402.DecodePaymentRequiredV1(rec.Body.Bytes())
		require.NoError(t, err)
		return rec.Code, one.Accepts[0].MaxAmountRequired
	}
	for asked, want := range map[string]string{"": "10000", "2": "2000000", "0.000001": "1"} {
		_, got := price(asked)
		require.Equal(t, want, got, asked)
	}
	for _, bad := range []string{"0", "-1", "free", "0.0000001", "1e3"} {
		code, got := price(bad)
		require.Equal(t, http.StatusInternalServerError, code, bad)
		require.Equal(t, "internal_error", got, bad)
	}
	require.Zero(t, w.served.Load())
}

func TestHeadersStayUnderTheLimitOfProxies(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	long := discovery()
	long.Output.Schema = m{"type": "object", "description": strings.Repeat("x", 5<<10)}
	cfg := w.config()
	cfg.Discovery = long
	_, err := paywall.New(cfg)
	require.ErrorContains(t, err, "Discovery: makes PAYMENT-REQUIRED")
	cfg.Discovery = discovery()
	cfg.Discovery.Description = strings.Repeat("x", 2500)
	_, err = paywall.New(cfg)
	require.ErrorContains(t, err, "Discovery: makes WWW-Authenticate")
	rec := w.ask()
	_, err = base64.StdEncoding.DecodeString(rec.Header().Get("PAYMENT-REQUIRED"))
	require.NoError(t, err)
}
