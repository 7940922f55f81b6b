package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
)

// TestMainJob is the story that a merchant lives through, over plain HTTP.
func TestMainJob(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	created := c.do(t, "POST", "/v1/mandates", `{"maxPerTxCents":500,"maxMonthlySpendCents":1000}`).ok(t)
	token := created.str("sessionToken")
	require.Equal(t, c.URL+"/setup/"+token, created.str("setupUrl"))
	pending := c.do(t, "GET", "/v1/mandates/session/"+token, "").ok(t)
	require.Equal(t, "pending", pending.str("status"))
	require.NotContains(t, pending.Body, "intentMandate")

	completed := c.do(t, "POST", "/v1/test_helpers/mandates/session/"+token+"/complete", "").ok(t)
	m := completed.str("intentMandate")
	require.Equal(t, m, c.do(t, "GET", "/v1/mandates/session/"+token, "").ok(t).str("intentMandate"))

	balance := c.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t)
	require.Equal(t, []int{500, 1000, 0, 1000}, []int{
		balance.int("maxPerTxCents"), balance.int("maxMonthlySpendCents"),
		balance.int("currentMonthlySpendCents"), balance.int("remainingMonthlySpendCents"),
	})

	first := c.charge(t, m, 400, "k1").ok(t)
	require.Equal(t, "completed", first.str("status"))
	require.Equal(t, "fiat", first.str("railUsed"))
	require.NotEmpty(t, first.str("processorPaymentId"))
	again := c.charge(t, m, 400, "k1").ok(t)
	require.Equal(t, first.Text, again.Text)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Empty(t, first.Header.Get("Idempotency-Replayed"))
	c.charge(t, m, 401, "k1").refused(t, 422, "idempotency_mismatch")

	require.Equal(t, 500, c.charge(t, m, 501, "k2").refused(t, 402, "per_tx").int("limitCents"))
	c.charge(t, m, 500, "k3").ok(t)
	over := c.charge(t, m, 101, "k4").refused(t, 402, "monthly")
	require.Equal(t, 100, over.int("remainingMonthlySpendCents"))
	require.Equal(t, 1000, over.int("limitCents"))
	overAgain := c.charge(t, m, 101, "k4").refused(t, 402, "monthly")
	require.Equal(t, over.Text, overAgain.Text)
	require.Equal(t, "true", overAgain.Header.Get("Idempotency-Replayed"))

	receipt := c.do(t, "GET", "/v1/payments/"+first.str("transactionId")+"/receipt", "").ok(t)
	require.Equal(t, []string{"succeeded", "usd", "fiatrail"}, []string{receipt.str("status"), receipt.str("currency"), receipt.str("rail")})
	require.Contains(t, receipt.str("receiptUrl"), c.URL+"/receipts/")

	stats := c.do(t, "GET", "/v1/merchants/stats", "").ok(t)
	require.Equal(t, []int{900, 1, 2}, []int{stats.int("totalVolumeCents"), stats.int("activeDelegates"), stats.int("transactionCount")})

	page := c.do(t, "GET", "/v1/merchants/transactions?limit=1", "").ok(t)
	require.Equal(t, true, page.Body["hasMore"])
	newest := page.Body["data"].([]any)[0].(map[string]any)
	require.EqualValues(t, 500, newest["amountCents"])
	page = c.do(t, "GET", "/v1/merchants/transactions?starting_after="+newest["id"].(string), "").ok(t)
	for query, param := range map[string]string{"cursor=" + newest["id"].(string): "cursor", "limit=1&status=nope": "status", "%ff=1": "query"} {
		require.Equal(t, param, c.do(t, "GET", "/v1/merchants/transactions?"+query, "").refused(t, 400, "validation_error").str("param"))
	}
	require.Equal(t, false, page.Body["hasMore"])
	require.Len(t, page.Body["data"], 1)

	for range 2 {
		revoked := c.do(t, "POST", "/v1/mandates/"+m+"/revoke", "").ok(t)
		require.Equal(t, "revoked", revoked.str("status"))
	}
	c.do(t, "POST", "/v1/delegates/"+m+"/revoke", "").ok(t)
	c.charge(t, m, 1, "k5").refused(t, 403, "mandate_revoked")
	require.Equal(t, "revoked", c.do(t, "GET", "/v1/mandates/"+balance.str("delegateId")+"/balance", "").ok(t).str("status"))
}

func TestBadBodiesNameTheField(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 500, 1000)
	charge := func(change string) string {
		body := chargeBody(m, 100, "key")
		name, _, _ := strings.Cut(change, ":")
		if i := strings.Index(body, name); name != "" && i >= 0 {
			end := i + len(name) + 1
			for depth := false; depth || (body[end] != ',' && body[end] != '}'); end++ {
				if body[end] == '"' {
					depth = !depth
				}
			}
			return body[:i] + change + body[end:]
		}
		return strings.TrimSuffix(body, "}") + "," + change + "}"
	}
	for body, param := range map[string]string{
		charge(`"amountCents":100.0`):                                 "amountCents",
		charge(`"amountCents":"100"`):                                 "amountCents",
		charge(`"amountCents":1e2`):                                   "amountCents",
		charge(`"amountCents":0`):                                     "amountCents",
		charge(`"amountCents":-1`):                                    "amountCents",
		charge(`"amountCents":null`):                                  "amountCents",
		charge(`"amountCents":1,"amountCents":2`):                     "amountCents",
		charge(`"currency":"eur"`):                                    "currency",
		charge(`"currency":"USD"`):                                    "currency",
		charge(`"description":""`):                                    "description",
		charge(`"description":"` + strings.Repeat("ä", 501) + `"`):    "description",
		charge(`"description":"a\u0000b"`):                            "description",
		charge(`"idempotencyKey":""`):                                 "idempotencyKey",
		charge(`"idempotencyKey":"` + strings.Repeat("k", 256) + `"`): "idempotencyKey",
		charge(`"idempotencyKey":"ä"`):                                "idempotencyKey",
		charge(`"intentMandate":""`):                                  "intentMandate",
		charge(`"intentMandate":"dtok_nonsense"`):                     "intentMandate",
		charge(`"metadata":[]`):                                       "metadata",
		charge(`"metadata":{"a":"x\u0000"}`):                          "metadata",
		charge(`"metadata":{"a":{}}`):                                 "metadata.a",
		charge(`"metadata":{"a":"` + strings.Repeat("v", 501) + `"}`): "metadata.a",
		charge(`"metadata":{"` + strings.Repeat("k", 41) + `":"v"}`):  "metadata",
		`{`: "",
	} {
		e := c.do(t, "POST", "/v1/payments/charge", body).refused(t, 400, "validation_error")
		require.Equal(t, param, e.str("param"), body)
	}
	c.do(t, "POST", "/v1/payments/charge", charge(`"description":"`+strings.Repeat("ä", 500)+`"`)).ok(t)
	c.do(t, "POST", "/v1/payments/charge", charge(`"idempotencyKey":"other","metadata":{"order":7,"gift":true,"note":"x"}`)).ok(t)
	c.do(t, "POST", "/v1/payments/charge", strings.Repeat(" ", 64<<10)+"{}").refused(t, 413, "payload_too_large")
	c.do(t, "POST", "/v1/payments/charge", "{}", "Content-Type", "text/plain").refused(t, 415, "unsupported_media_type")
}

func TestBadSessionsNameTheField(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	for body, param := range map[string]string{
		`{}`:                  "maxPerTxCents",
		`{"maxPerTxCents":1}`: "maxMonthlySpendCents",
		`{"maxPerTxCents":2,"maxMonthlySpendCents":1}`:                                                         "maxPerTxCents",
		`{"maxPerTxCents":1,"maxMonthlySpendCents":10000001}`:                                                  "maxMonthlySpendCents",
		`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"requestedRail":"card"}`:                                  "requestedRail",
		`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"requestedRail":"chainrail"}`:                             "requestedRail",
		`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"expiresAt":"2020-01-01T00:00:00Z"}`:                      "expiresAt",
		`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"expiresAt":"2099-01-01T00:00:00Z"}`:                      "expiresAt",
		`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"expiresAt":"soon"}`:                                      "expiresAt",
		`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"returnUrl":"javascript:alert(1)"}`:                       "returnUrl",
		`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"returnUrl":"http://shop.example"}`:                       "returnUrl",
		`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"returnUrl":"https://u:p@shop.example"}`:                  "returnUrl",
		`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"allowedMerchantIds":["*","mer_1"]}`:                      "allowedMerchantIds",
		`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"allowedMerchantIds":["mer_01ARZ3NDEKTSV4RRFFQ69G5FAV"]}`: "allowedMerchantIds",
	} {
		e := c.do(t, "POST", "/v1/mandates", body).refused(t, 400, "validation_error")
		require.Equal(t, param, e.str("param"), body)
	}
	c.do(t, "POST", "/v1/mandates", fmt.Sprintf(`{"maxPerTxCents":1,"maxMonthlySpendCents":1,"expiresAt":%q,"returnUrl":"https://shop.example/back"}`, soon)).ok(t)
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	other, err := c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Other"})
	require.NoError(t, err)
	for name, headers := range map[string][]string{
		"no merchant":      {"X-Service-Merchant-Id", ""},
		"no key":           {"X-Service-Api-Key", ""},
		"wrong key":        {"X-Service-Api-Key", "sk_test_wrong"},
		"other's key":      {"X-Service-Api-Key", other.APIKey},
		"other's merchant": {"X-Service-Merchant-Id", other.ID},
		"live key":         {"X-Service-Api-Key", strings.Replace(c.merchant.APIKey, "sk_test_", "sk_live_", 1)},
	} {
		e := c.do(t, "GET", "/v1/merchants/stats", "", headers...).refused(t, 401, "unauthorized")
		require.NotEmpty(t, e.Header.Get("WWW-Authenticate"), name)
		require.Equal(t, name == "live key", strings.Contains(e.str("message"), "sandbox"), name)
		c.do(t, "POST", "/v1/payments/charge", "{", headers...).refused(t, 401, "unauthorized")
	}
}

func TestStrangersSeeNothing(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 500, 1000)
	created := c.do(t, "POST", "/v1/mandates", `{"maxPerTxCents":500,"maxMonthlySpendCents":1000}`).ok(t)
	paid := c.charge(t, m, 100, "k").ok(t)
	var err error
	stranger := caller{Server: c.Server}
	stranger.merchant, err = c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Stranger"})
	require.NoError(t, err)

	stranger.do(t, "GET", "/v1/mandates/session/"+created.str("sessionToken"), "").refused(t, 404, "not_found")
	stranger.do(t, "GET", "/v1/mandates/"+m+"/balance", "").refused(t, 404, "not_found")
	stranger.do(t, "POST", "/v1/mandates/"+m+"/revoke", "").refused(t, 404, "not_found")
	stranger.do(t, "GET", "/v1/payments/"+paid.str("transactionId")+"/receipt", "").refused(t, 404, "not_found")
	stranger.do(t, "GET", "/v1/merchants/transactions?starting_after="+paid.str("transactionId"), "").refused(t, 400, "validation_error")
	stranger.charge(t, m, 100, "k").refused(t, 403, "merchant_not_allowed")
	c.do(t, "GET", "/v1/payments/txn_unknown/receipt", "").refused(t, 404, "not_found")
	c.do(t, "GET", "/v1/nothing", "").refused(t, 404, "not_found")
	require.Equal(t, "POST", c.do(t, "GET", "/v1/payments/charge", "").refused(t, 405, "method_not_allowed").Header.Get("Allow"))
	require.Equal(t, "GET, HEAD", c.do(t, "DELETE", "/v1/mandates/session/x", "").refused(t, 405, "method_not_allowed").Header.Get("Allow"))
}

func TestAllowedMerchantMayChargeAndReadButNotRevoke(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	friend := caller{Server: c.Server}
	var err error
	friend.merchant, err = c.CreateMerchant(t.Context(), server.MerchantParams{Name: "Friend"})
	require.NoError(t, err)
	m := c.Mandate(t, servertest.Terms{
		MaxPerTxCents: 500, MaxMonthlySpendCents: 1000, AllowedMerchantIDs: []string{c.merchant.ID, friend.merchant.ID},
	})
	friend.charge(t, m, 100, "k").ok(t)
	require.Equal(t, 100, friend.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t).int("currentMonthlySpendCents"))
	friend.do(t, "POST", "/v1/mandates/"+m+"/revoke", "").refused(t, 404, "not_found")
	require.Equal(t, 1, friend.do(t, "GET", "/v1/merchants/stats", "").ok(t).int("transactionCount"))
	require.Zero(t, c.do(t, "GET", "/v1/merchants/stats", "").ok(t).int("transactionCount"))
}

func TestForgedMandates(t *testing.T) {
	t.Parallel()
	c, foreign := setup(t, nil), setup(t, nil)
	m, other := c.mandate(t, 500, 1000), foreign.mandate(t, 500, 1000)
	c.charge(t, other, 100, "k1").refused(t, 403, "mandate_invalid")
	at := strings.LastIndex(m, ".") + 10
	flipped := m[:at] + map[bool]string{true: "B", false: "A"}[m[at] == 'A'] + m[at+1:]
	c.charge(t, flipped, 100, "k2").refused(t, 403, "mandate_invalid")
	require.Equal(t, "true", c.charge(t, flipped, 100, "k2").refused(t, 403, "mandate_invalid").Header.Get("Idempotency-Replayed"))
	c.do(t, "GET", "/v1/mandates/"+flipped+"/balance", "").refused(t, 403, "mandate_invalid")
	c.do(t, "GET", "/v1/mandates/nonsense/balance", "").refused(t, 400, "validation_error")
}

func TestMandateVerifiesOffline(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	v := mandate.Verifier{Issuer: c.URL, Keys: mandate.RemoteKeys(c.URL + "/.well-known/jwks.json")}
	m, err := v.Verify(t.Context(), c.mandate(t, 500, 1000))
	require.NoError(t, err)
	require.Equal(t, mandate.Limits{MaxPerTxCents: 500, MaxMonthlyCents: 1000}, m.Limits)
	require.Equal(t, c.merchant.ID, m.Payees[0].ID)
	keys := c.do(t, "GET", "/.well-known/jwks.json", "").ok(t)
	require.NotEmpty(t, keys.Header.Get("ETag"))
	c.do(t, "GET", "/.well-known/jwks.json", "", "If-None-Match", keys.Header.Get("ETag"))
	doc := c.do(t, "GET", "/openapi.json", "").ok(t)
	require.Equal(t, http.StatusNotModified, c.do(t, "GET", "/openapi.json", "", "If-None-Match", doc.Header.Get("ETag")).Status)
}

func TestExpiryAndMonthFollowTheClock(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 500, 500)
	c.charge(t, m, 500, "k1").ok(t)
	c.charge(t, m, 1, "k2").refused(t, 402, "monthly")
	c.do(t, "POST", "/v1/test_helpers/clock/advance", `{"seconds":2678400}`).ok(t)
	require.Zero(t, c.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t).int("currentMonthlySpendCents"))
	c.charge(t, m, 500, "k3").ok(t)
	c.charge(t, m, 1, "k2").refused(t, 402, "monthly") // still the answer of that key
	c.Clock.Advance(366 * 24 * time.Hour)
	c.charge(t, m, 1, "k4").refused(t, 403, "mandate_expired")
	require.Equal(t, "expired", c.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t).str("status"))
	require.Zero(t, c.do(t, "GET", "/v1/merchants/stats", "").ok(t).int("activeDelegates"))
	c.do(t, "POST", "/v1/test_helpers/clock/advance", `{"seconds":0}`).refused(t, 400, "validation_error")
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	c := setup(t, &servertest.Options{Configure: func(cfg *server.Config) { cfg.RequestsPerSecond = 1 }})
	for range 2 {
		a := c.do(t, "GET", "/v1/merchants/stats", "").ok(t)
		require.Equal(t, `"reads";q=2;w=2`, a.Header.Get("RateLimit-Policy"))
	}
	limited := c.do(t, "GET", "/v1/merchants/stats", "").refused(t, 429, "rate_limit_exceeded")
	require.Equal(t, "1", limited.Header.Get("Retry-After"))
	require.Contains(t, limited.Header.Get("RateLimit"), `"reads";r=0`)
	c.do(t, "POST", "/v1/mandates", `{"maxPerTxCents":1,"maxMonthlySpendCents":1}`).ok(t) // counted apart
	c.Clock.Advance(time.Second)
	c.do(t, "GET", "/v1/merchants/stats", "").ok(t)
}

func TestIdempotencyKeyInTheHeader(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	m := c.mandate(t, 500, 1000)
	body := strings.Replace(chargeBody(m, 100, "k"), `"idempotencyKey":"k",`, "", 1)
	first := c.do(t, "POST", "/v1/payments/charge", body, "Idempotency-Key", "k").ok(t)
	require.Equal(t, first.Text, c.charge(t, m, 100, "k").ok(t).Text)
	e := c.do(t, "POST", "/v1/payments/charge", chargeBody(m, 100, "k"), "Idempotency-Key", "other").refused(t, 400, "validation_error")
	require.Equal(t, "idempotencyKey", e.str("param"))
	c.do(t, "POST", "/v1/payments/charge", body).refused(t, 400, "validation_error")
}

func TestFailuresOfTheCard(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	for method, reason := range map[string]string{
		"card_decline_after_setup": "card_declined", "card_insufficient_funds": "insufficient_funds",
		"card_processor_error": "processor_error", "card_expired": "expired_card",
	} {
		m := c.mandate(t, 500, 1000, method)
		failed := c.charge(t, m, 500, method).ok(t)
		require.Equal(t, []string{"failed", reason}, []string{failed.str("status"), failed.str("failureReason")})
		require.Equal(t, failed.Text, c.charge(t, m, 500, method).ok(t).Text)
		require.Zero(t, c.do(t, "GET", "/v1/mandates/"+m+"/balance", "").ok(t).int("currentMonthlySpendCents"))
		receipt := c.do(t, "GET", "/v1/payments/"+failed.str("transactionId")+"/receipt", "").ok(t)
		require.Equal(t, []string{"failed", reason}, []string{receipt.str("status"), receipt.str("failureReason")})
	}
	stats := c.do(t, "GET", "/v1/merchants/stats", "").ok(t)
	require.Zero(t, stats.int("totalVolumeCents")+stats.int("transactionCount"))
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	c := setup(t, nil)
	create := func() string {
		return c.do(t, "POST", "/v1/mandates", `{"maxPerTxCents":500,"maxMonthlySpendCents":1000}`).ok(t).str("sessionToken")
	}
	complete := func(token, body string) answer {
		return c.do(t, "POST", "/v1/test_helpers/mandates/session/"+token+"/complete", body)
	}
	read := func(token string) answer { return c.do(t, "GET", "/v1/mandates/session/"+token, "").ok(t) }

	declined := create()
	require.Equal(t, "failed", c.do(t, "POST", "/v1/test_helpers/mandates/session/"+declined+"/fail", "").ok(t).str("status"))
	require.Equal(t, "declined", read(declined).str("failureReason"))
	complete(declined, "").refused(t, 409, "session_finished")

	often := create()
	for range 5 {
		require.Equal(t, "pending", read(often).str("status"))
		require.Equal(t, "paymentMethod", complete(often, `{"paymentMethod":"card_declined"}`).refused(t, 400, "validation_error").str("param"))
	}
	require.Equal(t, "too_many_attempts", read(often).str("failureReason"))

	lowered := create()
	complete(lowered, `{"paymentMethod":"card_unheard_of"}`).refused(t, 400, "validation_error")
	complete(lowered, `{"maxPerTxCents":501}`).refused(t, 400, "validation_error")
	complete(lowered, `{"allowedMerchantIds":["*"]}`).refused(t, 400, "validation_error")
	m := complete(lowered, `{"maxPerTxCents":50,"maxMonthlySpendCents":60}`).ok(t).str("intentMandate")
	require.Equal(t, 50, c.charge(t, m, 51, "k").refused(t, 402, "per_tx").int("limitCents"))
	complete(lowered, "").refused(t, 409, "session_finished")

	late := create()
	c.Clock.Advance(24 * time.Hour)
	require.Equal(t, "expired", read(late).str("failureReason"))
	complete(late, "").refused(t, 409, "session_finished")
	complete("sess_unknown", "").refused(t, 404, "not_found")
}

func TestErrorsReachTheClientByKind(t *testing.T) {
	t.Parallel()
	srv := servertest.Start(t, nil)
	m := srv.Mandate(t, servertest.Terms{MaxPerTxCents: 10, MaxMonthlySpendCents: 10})
	_, err := srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 11, Currency: client.USD, Description: "x"})
	require.ErrorIs(t, err, client.ErrPerTxLimit)
	_, err = srv.Client().Revoke(t.Context(), m)
	require.NoError(t, err)
	_, err = srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 1, Currency: client.USD, Description: "x"})
	require.ErrorIs(t, err, client.ErrMandateRevoked)
}
