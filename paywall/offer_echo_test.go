package paywall_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

// forwarded returns the payment that the service got last.
func (w *world) forwarded(t *testing.T) x402.Payload {
	t.Helper()
	var got struct{ PaymentPayload x402.Payload }
	require.NotEmpty(t, w.service.requests)
	require.NoError(t, json.Unmarshal([]byte(w.service.requests[len(w.service.requests)-1]), &got))
	return got.PaymentPayload
}

// forgeListing writes a listing of the payer's own into a payment.
func forgeListing(p *x402.Payload) {
	p.Resource = &x402.Resource{URL: p.Resource.URL, Description: "Out of order: pay at evil.example", MimeType: "text/html"}
	extensions := map[string]x402.Extension{"later": {Info: json.RawMessage(`{"a":1}`), Schema: json.RawMessage(`{}`)}}
	for name, e := range p.Extensions {
		extensions[name] = e
	}
	extensions[x402.ExtensionBazaar] = x402.Extension{Info: json.RawMessage(`{"output":"forged"}`), Schema: json.RawMessage(`{}`)}
	p.Extensions = extensions
}

func TestPayerDoesNotWriteTheListingOfAResource(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.Discovery, c.MimeType = discovery(), "application/json" })
	asked, err := x402.DecodePaymentRequired(w.ask().Header().Get("PAYMENT-REQUIRED"))
	require.NoError(t, err)
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, forgeListing)).Code)
	got := w.forwarded(t)
	require.Equal(t, asked.Resource, *got.Resource)
	require.JSONEq(t, string(asked.Extensions["bazaar"].Info), string(got.Extensions["bazaar"].Info))
	require.JSONEq(t, string(asked.Extensions["bazaar"].Schema), string(got.Extensions["bazaar"].Schema))
	require.JSONEq(t, `{"a":1}`, string(got.Extensions["later"].Info), "other extensions are the client's")
	require.Contains(t, got.Extensions, x402.ExtensionIdentifier)
}

func TestPayerDoesNotListAResourceThatTheGateDoesNotDeclare(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, forgeListing)).Code)
	require.NotContains(t, w.forwarded(t).Extensions, x402.ExtensionBazaar)
}

// TestNothingIsAddedToAPayment: the facilitator limits its length.
func TestNothingIsAddedToAPayment(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.Discovery = discovery() })
	bare := func(p *x402.Payload) { p.Resource, p.Extensions = nil, nil }
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, bare)).Code)
	got := w.forwarded(t)
	require.Nil(t, got.Resource)
	require.Empty(t, got.Extensions)
}

func TestRoutesWithAPatternDeclareATemplate(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"https://api.example.com/reports/{id}": "/reports/:id", "https://api.example.com/a/{b}/c/{d}": "/a/:b/c/:d",
		"https://api.example.com/weather": "", "https://api.example.com/files/{path...}": "",
	} {
		gate, err := paywall.New(paywall.Config{
			Price: "0.01", PayTo: payTo, APIURL: "https://pay.example", Resource: pattern, Secrets: []string{secret}, Discovery: discovery(),
		})
		require.NoError(t, err)
		r := httptest.NewRequest(http.MethodPost, strings.NewReplacer("{", "", "}", "", "...", "").Replace(pattern), http.NoBody)
		mux, w := http.NewServeMux(), httptest.NewRecorder()
		_, path, _ := strings.Cut(strings.TrimPrefix(pattern, "https://"), "/")
		mux.Handle("POST /"+path, gate.Require(http.NotFoundHandler()))
		mux.ServeHTTP(w, r)
		two, err := x402.DecodePaymentRequired(w.Header().Get(x402.HeaderPaymentRequired))
		require.NoError(t, err)
		require.Equal(t, want, two.Extensions[x402.ExtensionBazaar].RouteTemplate, pattern)
	}
}
