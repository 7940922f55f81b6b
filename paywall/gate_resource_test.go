package paywall_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

// at sends a request for a path.
func (w *world) at(h http.Handler, path string, headers ...string) *httptest.ResponseRecorder {
	r := request(http.MethodGet, headers...)
	u, err := r.URL.Parse("https://backend.internal:8080" + path)
	require.NoError(w.t, err)
	r.URL, r.Host = u, u.Host
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec
}

func (w *world) resourceAt(h http.Handler, path string) string {
	w.t.Helper()
	rec := w.at(h, path)
	require.Equal(w.t, 402, rec.Code, rec.Body.String())
	two, err := x402.DecodePaymentRequired(rec.Header().Get("PAYMENT-REQUIRED"))
	require.NoError(w.t, err)
	one, err := x402.DecodePaymentRequiredV1(rec.Body.Bytes())
	require.NoError(w.t, err)
	require.Equal(w.t, two.Resource.URL, one.Accepts[0].Resource)
	return two.Resource.URL
}

func TestResourceIsFilledFromTheRequest(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.Resource, c.Origin = "", "https://api.example.com" })
	pattern := func(text string) http.Handler { return w.protected(w.gate.With(paywall.Route{Resource: text})) }
	anything := w.protected(w.gate)
	for _, tc := range []struct {
		h          http.Handler
		path, want string
	}{
		{anything, "/weather?city=Bern", "https://api.example.com/weather"},
		{anything, "/", "https://api.example.com/"},
		{anything, "", "https://api.example.com/"},
		{anything, "/a%ffb%00/c%20d/%C3%BC", "https://api.example.com/a%ffb%00/c%20d/%C3%BC"},
		{anything, "/ü", "https://api.example.com/%C3%BC"},
		{pattern("https://api.example.com/reports/{id}"), "/reports/7?x=1", "https://api.example.com/reports/7"},
		{pattern("/reports/{id}/{part}"), "/reports/a%2Fb/c", "https://api.example.com/reports/a%2Fb/c"},
		{pattern("https://www.example.com/files/{path...}"), "/files/a/b%20c", "https://www.example.com/files/a/b%20c"},
	} {
		require.Equal(t, tc.want, w.resourceAt(tc.h, tc.path))
	}
	require.Equal(t, 500, w.at(pattern("/reports/{id}"), "/other/7").Code, "mounted elsewhere")
	require.Equal(t, 500, w.at(pattern("/reports/{id}"), "/reports/").Code)

	mux := http.NewServeMux()
	mux.Handle("GET /v1/reports/{id}", http.StripPrefix("/v1", pattern("https://api.example.com/v1/reports/{id}")))
	require.Equal(t, "https://api.example.com/v1/reports/a%20b", w.resourceAt(mux, "/v1/reports/a%20b"), "by the router's path values")
}

func TestPaymentForOneReportOpensNoOther(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.Resource, c.Origin = "/reports/{id}", "https://api.example.com" })
	h := w.protected(w.gate)
	sign := func(path string) map[string]string {
		rec := w.at(h, path)
		two, err := x402.DecodePaymentRequired(rec.Header().Get("PAYMENT-REQUIRED"))
		require.NoError(t, err)
		return map[string]string{
			"PAYMENT-SIGNATURE": encode(t, x402.Payload{X402Version: 2, Resource: &two.Resource, Accepted: two.Accepts[0], Payload: w.transfer("10000")}),
			"X-PAYMENT":         encode(t, x402.PayloadV1{X402Version: 1, Scheme: "exact", Network: "base-sepolia", Payload: w.transfer("10000")}),
			"X-Service-Mandate": w.service.present(w.service.mandate(nil), fmt.Sprint("n", nonces.Add(1)), func(b *mandate.Binding) {
				b.Transaction.Resource = two.Resource.URL
			}),
		}
	}
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	for header, paid := range sign("/reports/1") {
		require.Equal(t, 500, w.at(h, "/reports/1", header, paid).Code, header)
		w.handler = sunny
		before := w.served.Load()
		require.Contains(t, []int{402, 409}, w.at(h, "/reports/2", header, paid).Code, header)
		require.Equal(t, before, w.served.Load(), header)
		require.Equal(t, 200, w.at(h, "/reports/1?again", header, paid).Code, header)
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	}
}

func TestResourceByFunction(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) {
		c.Resource, c.ResourceFunc = "", func(r *http.Request) (string, error) {
			if r.URL.Path == "/none" {
				return "", errors.New("nothing is sold here: internal words")
			}
			return "https://" + r.Header.Get("X-Tenant") + ".example.com" + r.URL.EscapedPath(), nil
		}
	})
	h := w.protected(w.gate)
	rec := w.at(h, "/a", "X-Tenant", "acme")
	require.Contains(t, rec.Body.String(), `"resource":"https://acme.example.com/a"`)
	require.Equal(t, "acme.example.com", challengeOf(t, rec).Realm)
	for path, tenant := range map[string]string{"/none": "acme", "/a": "a:b@c"} {
		rec = w.at(h, path, "X-Tenant", tenant)
		require.Equal(t, 500, rec.Code)
		require.NotContains(t, rec.Body.String(), "internal words")
	}
}

func TestURLTooLongToBePaidForIs414(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.Resource, c.Origin = "", "https://api.example.com" })
	h := w.protected(w.gate)
	rec := w.at(h, "/"+strings.Repeat("a", 3000))
	require.Equal(t, http.StatusRequestURITooLong, rec.Code)
	require.Equal(t, "uri_too_long", body(t, rec)["code"])
	long := discovery()
	long.Description = strings.Repeat("x", 1000)
	h = w.protected(w.gate.With(paywall.Route{Discovery: long}))
	require.Equal(t, 402, w.at(h, "/a").Code)
	require.Equal(t, http.StatusRequestURITooLong, w.at(h, "/"+strings.Repeat("a", 2000)).Code, "it and the description")
}

func TestManyResourcesOfOneRoute(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.Resource = "https://api.example.com/{id}" })
	h := w.protected(w.gate)
	for i := range 600 {
		path := fmt.Sprint("/", i%300)
		require.Equal(t, "https://api.example.com"+path, w.resourceAt(h, path))
	}
}

func TestListingNamesWhatIsMounted(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	derived := w.gate.With(paywall.Route{Price: "0.05", Resource: "https://api.example.com/reports/{id}/{rest...}", Discovery: discovery()})
	documents := func() string {
		var all strings.Builder
		for _, h := range []http.Handler{w.gate.OpenAPI(), derived.LLMs()} {
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, request(http.MethodGet))
			_, _ = io.Copy(&all, rec.Body)
		}
		return all.String()
	}
	require.NotContains(t, documents(), "/weather")
	require.NotContains(t, documents(), "/reports")
	w.protected(derived)
	w.protected(derived)
	listed := documents()
	require.NotContains(t, listed, "/weather", "the gate that others are derived from is not in use itself")
	require.Contains(t, listed, `"/reports/{id}/{rest}"`)
	require.Contains(t, listed, `{"in":"path","name":"id","required":true,"schema":{"type":"string"}}`)
	require.Equal(t, 1, strings.Count(listed, "`POST https://api.example.com/reports/"), listed)
}
