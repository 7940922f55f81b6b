package x402_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/x402"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fixedClock time.Time

func (c fixedClock) Now() time.Time { return time.Time(c) }

// facilitator starts a server that gives one answer, and a client of it.
func facilitator(t *testing.T, answer http.HandlerFunc, change func(*x402.FacilitatorConfig)) *x402.Facilitator {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	cfg := x402.FacilitatorConfig{URL: srv.URL + "/platform/x402", HTTPClient: srv.Client()}
	if change != nil {
		change(&cfg)
	}
	f, err := x402.NewFacilitator(cfg)
	require.NoError(t, err)
	return f
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func request() x402.FacilitatorRequest {
	return x402.FacilitatorRequest{
		X402Version: 2, PaymentPayload: json.RawMessage(`{"x402Version":2,"later":true}`), PaymentRequirements: requirements(),
	}
}

func TestSettleSendsThePayloadWhole(t *testing.T) {
	t.Parallel()
	var got, path string
	f := facilitator(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, path = string(body), r.URL.Path
		w.Header().Set("Idempotency-Replayed", "true")
		_, _ = fmt.Fprintf(w, `{"success":true,"transaction":%q,"network":"eip155:84532","payer":%q,"extra":{}}`, hash, payer)
	}, nil)
	s, err := f.Settle(t.Context(), request())
	require.NoError(t, err)
	require.Equal(t, x402.Settlement{Success: true, Transaction: hash, Network: "eip155:84532", Payer: payer, Replayed: true}, s)
	require.Equal(t, "/platform/x402/settle", path)
	require.Contains(t, got, `"paymentPayload":{"x402Version":2,"later":true}`)
}

func TestEncodedRequirementsAreSentAsTheyAre(t *testing.T) {
	t.Parallel()
	var got []string
	f := facilitator(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, string(body))
		_, _ = io.WriteString(w, `{"isValid":true}`)
	}, nil)
	two, err := requirements().Encoded()
	require.NoError(t, err)
	one, err := x402.RequirementsV1{Scheme: "exact", OutputSchema: json.RawMessage(`{"a":1}`), Extra: map[string]any{"b": "c"}}.Encoded()
	require.NoError(t, err)
	plain := x402.RequirementsV1{Scheme: "exact", OutputSchema: json.RawMessage(`{"a":1}`), Extra: map[string]any{"b": "c"}}
	for _, r := range []any{requirements(), two, plain, one} {
		req := request()
		req.PaymentRequirements = r
		_, err := f.Verify(t.Context(), req)
		require.NoError(t, err)
	}
	require.JSONEq(t, got[0], got[1])
	require.JSONEq(t, got[2], got[3])
}

func TestSettleTellsNoFromUnknown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status  int
		body    string
		refused x402.Reason
		pending string
	}{
		"refused":                     {200, `{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"base"}`, x402.ReasonInsufficientFunds, ""},
		"refused with 400":            {400, `{"success":false,"errorReason":"invalid_payload"}`, x402.ReasonInvalidPayload, ""},
		"pending":                     {200, `{"success":false,"errorReason":"settlement_pending","transaction":"` + hash + `"}`, "", hash},
		"pending without transaction": {200, `{"success":false,"errorReason":"settlement_pending"}`, "", ""},
		"does not know":               {200, `{"success":false,"errorReason":"unexpected_settle_error"}`, "", ""},
		"no reason":                   {200, `{"success":false}`, "", ""},
		"success for nothing":         {200, `{"success":true,"transaction":"","network":"eip155:84532"}`, "", ""},
		"success, no hash":            {200, `{"success":true,"transaction":"0x12","network":"eip155:84532"}`, "", ""},
		"success on another network":  {200, `{"success":true,"transaction":"` + hash + `","network":"eip155:8453"}`, "", ""},
		"success with 502":            {502, `{"success":true,"transaction":"` + hash + `","network":"eip155:84532"}`, "", ""},
		"success with 402":            {402, `{"success":true,"transaction":"` + hash + `","network":"eip155:84532"}`, "", ""},
		"refused with 500":            {500, `{"success":false,"errorReason":"insufficient_funds"}`, "", ""},
		"a page":                      {502, `<html>bad gateway</html>`, "", ""},
		"empty":                       {200, ``, "", ""},
		"torn":                        {200, `{"success":true`, "", ""},
		"duplicate names":             {200, `{"success":false,"success":true,"transaction":"` + hash + `","network":"eip155:84532"}`, "", ""},
		"unauthorized":                {401, `{"error":"unauthorized"}`, "", ""},
		"redirect":                    {307, `{}`, "", ""},
		"endless":                     {200, `{"success":true,"x":"` + strings.Repeat("x", 300<<10) + `"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := facilitator(t, says(tc.status, tc.body), nil).Settle(t.Context(), request())
			var refused *x402.RefusedError
			var pending *x402.PendingError
			var unavailable *x402.UnavailableError
			switch {
			case tc.refused != "":
				require.ErrorAs(t, err, &refused)
				require.Equal(t, tc.refused, refused.Reason)
			case tc.pending != "":
				require.ErrorAs(t, err, &pending)
				require.Equal(t, tc.pending, pending.Transaction)
				require.Equal(t, 7*time.Second, pending.RetryAfter)
			default:
				require.ErrorAs(t, err, &unavailable)
				require.Equal(t, tc.status, unavailable.Status)
				require.Equal(t, 7*time.Second, unavailable.RetryAfter)
				require.False(t, unavailable.Timeout)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	v, err := facilitator(t, says(200, `{"isValid":true,"payer":"`+payer+`"}`), nil).Verify(t.Context(), request())
	require.NoError(t, err)
	require.Equal(t, payer, v.Payer)

	var refused *x402.RefusedError
	_, err = facilitator(t, says(400, `{"isValid":false,"invalidReason":"invalid_exact_evm_payload_signature"}`), nil).Verify(t.Context(), request())
	require.ErrorAs(t, err, &refused)
	require.Equal(t, x402.ReasonSignature, refused.Reason)

	var unavailable *x402.UnavailableError
	for _, body := range []string{`{"isValid":false}`, `{"isValid":false,"invalidReason":"unexpected_verify_error"}`, `{}`, `[]`} {
		_, err = facilitator(t, says(200, body), nil).Verify(t.Context(), request())
		require.ErrorAs(t, err, &unavailable, body)
	}
	_, err = facilitator(t, says(500, `{"isValid":true}`), nil).Verify(t.Context(), request())
	require.ErrorAs(t, err, &unavailable)
}

func TestSupported(t *testing.T) {
	t.Parallel()
	s, err := facilitator(t, says(200, `{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:84532"}],"extensions":["bazaar"],"signers":{"eip155:*":["`+payer+`"]}}`), nil).Supported(t.Context())
	require.NoError(t, err)
	require.Equal(t, []x402.SupportedKind{{X402Version: 2, Scheme: "exact", Network: "eip155:84532"}}, s.Kinds)
	_, err = facilitator(t, says(404, `{}`), nil).Supported(t.Context())
	require.Error(t, err)
}

// TestFacilitatorAtAnOrigin: below a URL without a path, with and without a slash,
// through clients of every kind.
func TestFacilitatorAtAnOrigin(t *testing.T) {
	t.Parallel()
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Host+r.RequestURI+" "+r.Header.Get("Content-Type"))
		_, _ = io.WriteString(w, `{"isValid":true}`)
	}))
	t.Cleanup(srv.Close)
	host := strings.TrimPrefix(srv.URL, "http://")
	for name, c := range map[string]*http.Client{"plain": srv.Client(), "with a time-out": {Transport: srv.Client().Transport, Timeout: time.Minute}} {
		for _, url := range []string{srv.URL, srv.URL + "/", srv.URL + "/deep", srv.URL + "/deep/"} {
			asked = nil
			f, err := x402.NewFacilitator(x402.FacilitatorConfig{URL: url, HTTPClient: c})
			require.NoError(t, err)
			_, err = f.Verify(t.Context(), request())
			require.NoError(t, err, "%s %s", name, url)
			path := strings.TrimSuffix(strings.TrimPrefix(url, srv.URL), "/") + "/verify"
			require.Equal(t, []string{"POST " + host + path + " application/json"}, asked)
		}
	}
}

func TestTimeoutIsToldFromDown(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := facilitator(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}, func(c *x402.FacilitatorConfig) { c.Timeout = 20 * time.Millisecond })
	t.Cleanup(func() { close(release) })
	_, err := f.Settle(t.Context(), request())
	var unavailable *x402.UnavailableError
	require.ErrorAs(t, err, &unavailable)
	require.True(t, unavailable.Timeout)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	down, err := x402.NewFacilitator(x402.FacilitatorConfig{URL: "http://127.0.0.1:1"})
	require.NoError(t, err)
	_, err = down.Settle(t.Context(), request())
	require.ErrorAs(t, err, &unavailable)
	require.False(t, unavailable.Timeout)
	require.Zero(t, unavailable.Status)
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAnswersOfWhateverLength: one is read whole though its transport does not say how
// long it is; one that is cut off is no answer.
func TestAnswersOfWhateverLength(t *testing.T) {
	t.Parallel()
	const transaction = "0xabababababababababababababababababababababababababababababababab"
	const whole = `{"success":true,"transaction":"` + transaction + `","network":"eip155:84532","payer":"0x857b06519E91e3A54538791bDbb0E22373e36b66"}`
	for length, taken := range map[int64]bool{0: true, -1: true, int64(len(whole)): true, int64(len(whole)) + 1: false, 1 << 40: true} {
		f := facilitator(t, nil, func(c *x402.FacilitatorConfig) {
			c.HTTPClient = &http.Client{Transport: transport(func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, ContentLength: length, Body: io.NopCloser(strings.NewReader(whole))}, nil
			})}
		})
		s, err := f.Settle(t.Context(), request())
		if taken {
			require.NoError(t, err, length)
			require.Equal(t, transaction, s.Transaction, length)
			continue
		}
		var unavailable *x402.UnavailableError
		require.ErrorAs(t, err, &unavailable, length)
	}
}

func TestRedirectsCarryThePaymentNowhere(t *testing.T) {
	t.Parallel()
	asked := false
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	t.Cleanup(thief.Close)
	f := facilitator(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	}, nil)
	_, err := f.Settle(t.Context(), request())
	require.Error(t, err)
	require.False(t, asked)
}

func TestCallsAreSigned(t *testing.T) {
	t.Parallel()
	public, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var token, host string
	f := facilitator(t, func(w http.ResponseWriter, r *http.Request) {
		token, host = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Host
		_, _ = io.WriteString(w, `{"isValid":true}`)
	}, func(c *x402.FacilitatorConfig) {
		c.KeyID, c.Clock = "0b7a6bd0-1d0f-4c8e-9d1c-1f3a5f0c2b11", fixedClock(now).Now
		c.Secret = x402.Secret(base64.StdEncoding.EncodeToString(private))
	})
	require.True(t, f.Signed())
	_, err = f.Verify(t.Context(), request())
	require.NoError(t, err)

	parsed, err := jwt.Parse(token, func(*jwt.Token) (any, error) { return public, nil },
		jwt.WithValidMethods([]string{"EdDSA"}), jwt.WithTimeFunc(func() time.Time { return now }))
	require.NoError(t, err)
	require.Equal(t, "JWT", parsed.Header["typ"])
	require.Equal(t, "0b7a6bd0-1d0f-4c8e-9d1c-1f3a5f0c2b11", parsed.Header["kid"])
	require.Len(t, parsed.Header["nonce"], 32)
	claims, _ := parsed.Claims.(jwt.MapClaims)
	require.Equal(t, "cdp", claims["iss"])
	require.Equal(t, []any{"cdp_service"}, claims["aud"])
	require.Equal(t, []any{"POST " + host + "/platform/x402/verify"}, claims["uris"])
	require.InDelta(t, now.Unix()+120, claims["exp"], 0)
}

func TestFacilitatorConfigNamesTheField(t *testing.T) {
	t.Parallel()
	_, private, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	key := x402.Secret(base64.StdEncoding.EncodeToString(private))
	private[63] ^= 1
	for want, cfg := range map[string]x402.FacilitatorConfig{
		"Config.URL: want an absolute": {URL: "example.com"},
		"Config.URL: want https":       {URL: "http://example.com"},
		"Config.Timeout":               {URL: "https://example.com", Timeout: -1},
		"Config.KeyID":                 {URL: "https://example.com", Secret: key},
		"Config.Secret: is required":   {URL: "https://example.com", KeyID: "k"},
		"Config.Secret: want 64 bytes": {URL: "https://example.com", KeyID: "k", Secret: "AAAA"},
		"Config.Secret: the public":    {URL: "https://example.com", KeyID: "k", Secret: x402.Secret(base64.StdEncoding.EncodeToString(private))},
	} {
		_, err := x402.NewFacilitator(cfg)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), key.Reveal())
	}
	require.Equal(t, "[redacted] [redacted]", fmt.Sprintf("%v %#v", key, key))
	text, err := json.Marshal(x402.FacilitatorConfig{Secret: key}.Secret)
	require.NoError(t, err)
	require.JSONEq(t, `"[redacted]"`, string(text))
}

func TestIdempotencyKeyIsSentWithSettleAlone(t *testing.T) {
	t.Parallel()
	keys := map[string][]string{}
	f := facilitator(t, func(w http.ResponseWriter, r *http.Request) {
		keys[r.URL.Path] = r.Header.Values("Idempotency-Key")
		_, _ = fmt.Fprintf(w, `{"isValid":true,"success":true,"transaction":%q,"network":"eip155:84532","kinds":[]}`, hash)
	}, nil)
	req := request()
	req.IdempotencyKey = "of this claim"
	_, err := f.Verify(t.Context(), req)
	require.NoError(t, err)
	_, err = f.Settle(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"/platform/x402/verify": nil, "/platform/x402/settle": {"of this claim"}}, keys)
	_, err = f.Settle(t.Context(), request())
	require.NoError(t, err)
	require.Empty(t, keys["/platform/x402/settle"])
}

func TestDuplicateSettlementIsARefusal(t *testing.T) {
	t.Parallel()
	f := facilitator(t, says(200, `{"success":false,"errorReason":"duplicate_settlement","transaction":"`+hash+`","network":"eip155:84532"}`), nil)
	_, err := f.Settle(t.Context(), request())
	var refused *x402.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, x402.ReasonDuplicate, refused.Reason)
}
