package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
)

// TestAgentPaysAGateWithAPresentation: the whole way, over HTTP between the
// three: agent, gate, service. The agent holds a mandate and no key.
func TestAgentPaysAGateWithAPresentation(t *testing.T) {
	t.Parallel()
	m := openMarket(t)
	token := m.mandateFor(t, "*")
	shop := httptest.NewUnstartedServer(nil)
	resource := "http://" + shop.Listener.Addr().String() + "/weather"
	gate, err := paywall.New(paywall.Config{
		Price: "0.50", PayTo: shopWallet, APIURL: m.URL, TestMode: true, Resource: resource, Secrets: []string{"0123456789abcdef0123456789abcdef"},
	})
	require.NoError(t, err)
	shop.Config.Handler = gate.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, _ := paywall.PaymentFrom(r.Context())
		_, _ = io.WriteString(w, "sunny, paid by "+p.Payer)
	}))
	shop.Start()
	t.Cleanup(shop.Close)
	get := func(credential string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, resource, nil)
		require.NoError(t, err)
		if credential != "" {
			r.Header.Set("X-Service-Mandate", credential)
		}
		resp, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp, string(text)
	}
	asked, _ := get("")
	require.Equal(t, 402, asked.StatusCode)
	challenge := regexp.MustCompile(`id="([^"]+)"`).FindStringSubmatch(asked.Header.Get("WWW-Authenticate"))
	require.Len(t, challenge, 2)
	made, err := m.Client().CreatePresentation(t.Context(), token, client.PresentationParams{
		Audience: "http://" + shop.Listener.Addr().String(), Nonce: challenge[1], Amount: "0.50", PayTo: shopWallet,
		Network: "eip155:84532", Resource: resource,
	})
	require.NoError(t, err)
	paid, text := get(made.Presentation)
	require.Equal(t, 200, paid.StatusCode, text)
	require.Contains(t, text, "sunny, paid by del_")
	again, _ := get(made.Presentation)
	require.NotEqual(t, 200, again.StatusCode, "served once")
	bare, text := get(token)
	require.Equal(t, 402, bare.StatusCode, text)
	require.Contains(t, text, "merchant_not_allowed")
	require.Equal(t, 50, m.spent(t, token))
}
