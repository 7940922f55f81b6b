package server_test

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

func TestAnswersHaveProtectiveHeaders(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	for _, path := range []string{"/v1/merchants/stats", "/v1/nothing", "/openapi.json", "/healthz", "/setup/sess_x"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+path, http.NoBody)
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), path)
		require.Empty(t, w.Header().Get("Strict-Transport-Security"), "plain HTTP")
		r.TLS = &tls.ConnectionState{}
		w = httptest.NewRecorder()
		c.ServeHTTP(w, r)
		require.Equal(t, "max-age=31536000", w.Header().Get("Strict-Transport-Security"), path)
	}
}

// TestTextThatNoStoreTakesIsRefusedAlike: on both stores, with 400 or 404 and never 500.
func TestTextThatNoStoreTakesIsRefusedAlike(t *testing.T) {
	t.Parallel()
	for _, kind := range engines {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, &servertest.Options{Store: kind.open, Merchant: server.MerchantParams{Name: "Weather & Co", PayTo: wallet}})
			m := c.mandate(t, 500, 1000)
			for _, bad := range []string{"%00", "%ff", "%c0%af", "%0a", "%e2%80%ae", "%7f"} {
				for _, path := range []string{
					"/v1/webhook_endpoints/", "/v1/checkouts/", "/v1/mandates/session/", "/m/x/", "/receipts/x/", "/v1/payments/" + bad + "/receipt?",
					"/v1/events/" + bad + "/deliveries?", "/v1/mandates/" + bad + "/balance?",
				} {
					require.Equal(t, http.StatusNotFound, c.raw(t, path+bad), path+bad)
				}
				for _, path := range []string{
					"/v1/events?starting_after=", "/v1/events?ending_before=", "/v1/merchants/transactions?starting_after=",
				} {
					require.Equal(t, http.StatusBadRequest, c.raw(t, path+bad), path+bad)
				}
				text, err := url.PathUnescape(bad)
				require.NoError(t, err)
				encoded, err := json.Marshal("a" + text + "b")
				require.NoError(t, err)
				if strings.Contains(string(encoded), "ufffd") { // JSON cannot hold it
					continue
				}
				for path, body := range map[string]string{
					"/v1/checkouts":              `{"amountCents":1,"idempotencyKey":"k","description":` + string(encoded) + `}`,
					"/v1/test_helpers/merchants": `{"name":` + string(encoded) + `}`,
					"/v1/payments/charge":        strings.Replace(chargeBody(m, 1, "k"), `"description":"`, `"description":"\u202e`, 1),
					"/v1/paywall/settle":         strings.Replace(settleBody(t, settlement(m, "k")), `"network":"eip155:84532"`, `"network":`+string(encoded), 1),
				} {
					c.do(t, "POST", path, body).refused(t, 400, "validation_error")
				}
			}
		})
	}
}

// raw sends a path as it is written.
func (c caller) raw(t *testing.T, path string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+path, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("X-Service-Merchant-Id", c.merchant.ID)
	r.Header.Set("X-Service-Api-Key", c.merchant.APIKey)
	resp, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

// TestSecurityEventsAreLogged: each with the request and its client's address, and
// without what opens anything.
func TestSecurityEventsAreLogged(t *testing.T) {
	t.Parallel()
	var log *lines
	c := setup(t, limited(servertest.Options{Configure: func(cfg *server.Config) { log = logged(cfg) }}))
	wrong := c
	wrong.merchant.APIKey = "sk_test_wrong"
	const from = "198.51.100.7"
	failed := wrong.do(t, "GET", "/v1/merchants/stats", "", "X-Forwarded-For", from).refused(t, 401, "unauthorized")
	m := c.mandate(t, 500, 1000)
	revoked := c.do(t, "POST", "/v1/mandates/"+m+"/revoke", "", "X-Forwarded-For", from).ok(t)
	endpoint := c.do(t, "POST", "/v1/webhook_endpoints", `{"url":"http://127.0.0.1:1/"}`, "X-Forwarded-For", from).ok(t)
	rotated := c.do(t, "POST", "/v1/webhook_endpoints/"+endpoint.str("id")+"/rotate_secret", "", "X-Forwarded-For", from).ok(t)
	created := c.do(t, "POST", "/v1/test_helpers/merchants", `{}`, "X-Forwarded-For", from).ok(t)
	text := log.String()
	for event, answer := range map[string]answer{
		"authentication_failed": failed, "mandate_revoked": revoked, "webhook_secret_created": endpoint, "webhook_secret_rotated": rotated, "merchant_created": created,
	} {
		require.Contains(t, text, `"msg":"security event","event":"`+event+`","requestId":"`+answer.Header.Get("X-Request-Id")+`","clientAddress":"`+from+`"`)
	}
	require.Contains(t, text, `"event":"mandate_confirmed"`)
	for _, secret := range []string{"sk_test_", m, endpoint.str("secret"), rotated.str("secret")} {
		require.NotContains(t, text, secret)
	}
}
