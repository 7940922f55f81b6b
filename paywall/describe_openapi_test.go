package paywall_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
)

func TestOpenAPIListsWhatIsSold(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) {
		c.Discovery = &paywall.Discovery{
			Description: "The weather", InputSchema: m{"properties": m{"city": m{"type": "string"}}, "required": []string{"city"}},
			Output: paywall.Output{Schema: m{"type": "object"}},
		}
	})
	w.protected(w.gate)
	w.protected(w.gate.With(paywall.Route{Price: "0.05", Resource: "https://api.example.com/search", Discovery: discovery()}))
	w.protected(w.gate.With(paywall.Route{Resource: "https://api.example.com/by-price", PriceFunc: func(*http.Request) (string, error) { return "1", nil }}))
	w.protected(w.gate.With(paywall.Route{Resource: "https://other.example.com/elsewhere"}))

	rec := httptest.NewRecorder()
	w.gate.OpenAPI().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/openapi.json", http.NoBody))
	require.Equal(t, 200, rec.Code)
	doc, err := openapi3.NewLoader().LoadFromData(rec.Body.Bytes())
	require.NoError(t, err)
	require.NoError(t, doc.Validate(context.Background()))

	all := body(t, rec)
	paths, _ := all["paths"].(map[string]any)
	require.Len(t, paths, 3)
	weather := paths["/weather"].(map[string]any)["get"].(map[string]any)
	require.Equal(t, m{
		"amount": "10000", "currency": "0x036CbD53842c5426634e7929541eC2318f3dCF7e", "description": "The weather", "intent": "charge", "method": "evm",
	}, weather["x-payment-info"])
	require.Equal(t, []any{m{"name": "city", "in": "query", "required": true, "schema": m{"type": "string"}}}, weather["parameters"])
	search := paths["/search"].(map[string]any)["post"].(map[string]any)
	require.Equal(t, "50000", search["x-payment-info"].(map[string]any)["amount"])
	require.NotEmpty(t, search["requestBody"])
	byPrice := paths["/by-price"].(map[string]any)["get"].(map[string]any)
	require.NotContains(t, byPrice["x-payment-info"], "amount")

	rec = httptest.NewRecorder()
	w.gate.OpenAPI().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/openapi.json", http.NoBody))
	require.Equal(t, 405, rec.Code)
}

func TestLLMsTextNamesWhatIsSoldAndHowToPay(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.CreditBundle = bundle(nil) })
	w.protected(w.gate)
	w.protected(w.gate.With(paywall.Route{Price: "0.05", Resource: "https://api.example.com/search", Discovery: discovery()}))
	w.protected(w.gate.With(paywall.Route{Resource: "https://other.example.com/elsewhere"}))

	rec := httptest.NewRecorder()
	w.gate.LLMs().ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/llms.txt", http.NoBody))
	require.Equal(t, 200, rec.Code)
	require.Equal(t, "text/plain; charset=utf-8", rec.Header().Get("Content-Type"))
	for _, want := range []string{
		"`GET https://api.example.com/weather`: 0.01 USDC", "`POST https://api.example.com/search`: 0.05 USDC",
		"https://api.example.com/openapi.json", "eip155:84532", "X-Service-Mandate", "X-Bundle-Token",
	} {
		require.Contains(t, rec.Body.String(), want)
	}
	require.NotContains(t, rec.Body.String(), "elsewhere")
}
