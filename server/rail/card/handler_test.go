package card_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/rail/card"
)

// send makes a request to a handler and returns status, code and body.
func send(t *testing.T, handler http.Handler, method, path, body string, header ...string) (status int, code, answer string) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	data, err := io.ReadAll(recorder.Result().Body)
	require.NoError(t, err)
	var parsed struct{ Code string }
	_ = json.Unmarshal(data, &parsed) // the mux's own answers are no JSON
	return recorder.Code, parsed.Code, string(data)
}

func TestHandlerRefusesMalformedRequests(t *testing.T) {
	t.Parallel()
	handler := newSetup(t).processor.Handler()
	const payments = "/v1/payments"
	for name, c := range map[string]struct {
		method, path, body string
		header             []string
		status             int
		code               string
	}{
		"no JSON":            {"POST", payments, `{`, nil, 400, "malformed_request"},
		"trailing data":      {"POST", payments, `{} {}`, nil, 400, "malformed_request"},
		"duplicate names":    {"POST", payments, `{"reference":"a","reference":"b"}`, nil, 400, "malformed_request"},
		"a fraction":         {"POST", payments, `{"amountCents":100.0}`, nil, 400, "malformed_request"},
		"an exponent":        {"POST", payments, `{"amountCents":1e2}`, nil, 400, "malformed_request"},
		"a string":           {"POST", payments, `{"amountCents":"100"}`, nil, 400, "malformed_request"},
		"too large a number": {"POST", payments, `{"amountCents":9223372036854775808}`, nil, 400, "malformed_request"},
		"nothing paid":       {"POST", payments, `{"reference":"a","amountCents":0}`, nil, 400, "invalid_parameters"},
		"no reference":       {"POST", payments, `{"amountCents":1}`, nil, 400, "invalid_parameters"},
		"long description":   {"POST", payments, `{"reference":"a","amountCents":1,"description":"` + strings.Repeat("a", 501) + `"}`, nil, 400, "invalid_parameters"},
		"too large":          {"POST", payments, `{"reference":"` + strings.Repeat("a", 65<<10) + `"}`, nil, 413, "malformed_request"},
		"a form":             {"POST", payments, `{}`, []string{"Content-Type", "text/plain"}, 415, "malformed_request"},
		"wrong method":       {"DELETE", payments, ``, nil, 405, ""},
		"wrong path":         {"GET", "/v1/disputes", ``, nil, 404, ""},
		"bad reference":      {"GET", payments + "/a%2Fb", ``, nil, 400, "invalid_parameters"},
		"unknown payment":    {"GET", payments + "/txn_1", ``, nil, 404, "unknown_payment"},
		"unknown capture":    {"POST", payments + "/txn_1/capture", ``, nil, 404, "unknown_payment"},
		"impossible faults":  {"PUT", "/v1/faults", `{"losePercent":101}`, nil, 400, "invalid_parameters"},
	} {
		status, code, answer := send(t, handler, c.method, c.path, c.body, c.header...)
		require.Equal(t, c.status, status, "%s: %s", name, answer)
		require.Equal(t, c.code, code, "%s: %s", name, answer)
	}
}

func TestHandlerWantsItsKey(t *testing.T) {
	t.Parallel()
	p := open(t, card.ProcessorConfig{Path: newSetup(t).path, Key: "canary"})
	handler := p.Handler()
	for _, path := range []string{"/v1/totals", "/v1/faults", "/v1/payments/txn_1"} {
		for _, given := range []string{"", "canary", "Bearer", "Bearer ", "Bearer canar", "Bearer canary2", "Basic canary"} {
			status, code, answer := send(t, handler, "GET", path, "", "Authorization", given)
			require.Equal(t, http.StatusUnauthorized, status, "%s with %q", path, given)
			require.Equal(t, "unauthorized", code)
			require.NotContains(t, answer, "canary")
		}
	}
	status, _, _ := send(t, handler, "GET", "/v1/totals", "", "Authorization", "bearer canary")
	require.Equal(t, http.StatusOK, status)
	status, _, _ = send(t, handler, "GET", "/healthz", "")
	require.Equal(t, http.StatusOK, status, "health asks for no key")
	_, err := serve(t, handler, "wrong").Payment(t.Context(), "txn_1")
	require.ErrorIs(t, err, card.ErrUnavailable, "a wrong key says nothing about the payment")
}

func TestHealthOfAClosedProcessor(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	require.NoError(t, s.processor.Close())
	status, code, answer := send(t, s.processor.Handler(), "GET", "/healthz", "")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "unavailable", code)
	require.NotContains(t, answer, s.path)
}

func TestFaultsAndTotalsOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	gateway := serve(t, s.processor.Handler(), "")
	faults := card.Faults{LatencyMillis: 1, ErrorPercent: 2, StopPercent: 3, LosePercent: 4}
	require.NoError(t, gateway.SetFaults(t.Context(), faults))
	require.Equal(t, faults, s.processor.Faults())
	require.ErrorIs(t, gateway.SetFaults(t.Context(), card.Faults{LosePercent: -1}), card.ErrInvalid)
	require.Equal(t, faults, s.processor.Faults())
	require.NoError(t, gateway.SetFaults(t.Context(), card.Faults{}))
	r := newRail(t, gateway)
	_, err := r.Charge(t.Context(), charge("txn_1.fiatrail", connect(t, r, "card_visa")))
	require.NoError(t, err)
	totals, err := gateway.Totals(t.Context())
	require.NoError(t, err)
	require.Equal(t, card.Totals{Payments: 1, CapturedCents: 100}, totals)
}

func TestLostAnswerBreaksTheConnection(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	gateway := serve(t, s.processor.Handler(), "")
	require.NoError(t, s.processor.SetFaults(card.Faults{LosePercent: 100}))
	_, err := gateway.Void(t.Context(), "txn_1")
	require.ErrorIs(t, err, card.ErrUnavailable)
	require.ErrorIs(t, err, io.EOF)
}

// FuzzHandler: no body makes the processor panic, move money of an unknown payer,
// or answer anything but JSON.
func FuzzHandler(f *testing.F) {
	for _, body := range []string{
		`{"reference":"a","customer":"cus_1","method":"pm_1","payee":"mer_1","amountCents":1}`,
		`{"reference":"a","email":"a@b"}`, `{"reference":"a","customer":"c","card":"card_visa"}`, `{"latencyMillis":0}`, `[]`, "\xff",
	} {
		f.Add(uint8(0), body)
	}
	p, err := card.OpenProcessor(f.Context(), card.ProcessorConfig{Path: f.TempDir() + "/card.db"})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, p.Close()) })
	handler := p.Handler()
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		path := []string{"/v1/payments", "/v1/customers", "/v1/payment_methods"}[which%3]
		status, _, answer := send(t, handler, "POST", path, body)
		require.True(t, json.Valid([]byte(answer)), answer)
		require.Contains(t, []int{200, 400, 409, 413, 422}, status, answer)
		require.Zero(t, movedCents(t, p))
	})
}

// FuzzAnswer: whatever stands in the processor's place answers, the rail gives an
// error, or an outcome about its own reference.
func FuzzAnswer(f *testing.F) {
	f.Add(200, `{"reference":"txn_1","id":"pay_1","amountCents":100,"state":"captured","capturedAtMillis":1}`)
	f.Add(200, `{"reference":"txn_1","state":"declined","reason":"x","amountCents":100}`)
	f.Add(404, `{"code":"unknown_payment","message":""}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		client := &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(body)),
			}, nil
		})}
		gateway, err := card.NewHTTP(card.HTTPConfig{BaseURL: "http://processor.example", Client: client})
		require.NoError(t, err)
		payment, err := gateway.Payment(t.Context(), "txn_1")
		if err == nil {
			require.Equal(t, http.StatusOK, status)
		} else {
			require.Empty(t, payment)
		}
		outcome, err := newRail(t, gateway).Lookup(t.Context(), "txn_1")
		if err == nil && status == http.StatusOK {
			require.Contains(t, body, "txn_1")
		}
		if err != nil {
			require.Empty(t, outcome)
		}
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
