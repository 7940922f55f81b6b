package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/servertest/postgres"
)

func TestMain(m *testing.M) {
	if service := os.Getenv(gateProcess); service != "" {
		if err := serveGate(service); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// document is the API's own description, which every answer in these tests is
// held against.
var document = sync.OnceValues(func() (routers.Router, error) {
	text, err := os.ReadFile("internal/api/openapi.json")
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	return legacy.NewRouter(doc)
})

// engine is a database that tests of the service run on.
type engine struct {
	name string
	open func(testing.TB) servertest.Store
}

var (
	onSQLite   = engine{name: "sqlite"}
	onPostgres = engine{"postgres", postgres.Open}
	engines    = []engine{onSQLite, onPostgres}
)

// caller speaks plain HTTP to a service, with a merchant's credentials or without.
type caller struct {
	*servertest.Server

	merchant server.Merchant
}

func setup(t *testing.T, o *servertest.Options) caller {
	t.Helper()
	srv := servertest.Start(t, o)
	return caller{Server: srv, merchant: srv.Merchant}
}

type answer struct {
	Status int
	Header http.Header
	Body   map[string]any
	Text   string
}

// int reads an integer member of the answer.
func (a answer) int(name string) int { return int(a.Body[name].(float64)) }

// str reads a text member of the answer; empty if it is absent.
func (a answer) str(name string) string {
	s, _ := a.Body[name].(string)
	return s
}

func (c caller) do(t *testing.T, method, path, body string, headers ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.merchant.ID != "" {
		r.Header.Set("X-Service-Merchant-Id", c.merchant.ID)
		r.Header.Set("X-Service-Api-Key", c.merchant.APIKey)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	a := answer{Status: resp.StatusCode, Header: resp.Header, Text: string(text)}
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		require.NoError(t, json.Unmarshal(text, &a.Body), a.Text)
	}
	conforms(t, r, a)
	return a
}

// conforms checks an answer of a documented path against the document.
func conforms(t *testing.T, r *http.Request, a answer) {
	t.Helper()
	require.Regexp(t, "^req_", a.Header.Get("X-Request-Id"))
	router, err := document()
	require.NoError(t, err)
	bare := r.Clone(t.Context())
	bare.URL.Scheme, bare.URL.Host = "", ""
	route, params, err := router.FindRoute(bare)
	if err != nil {
		return // a path or method that the document does not have
	}
	require.NoError(t, openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: bare, Route: route, PathParams: params},
		Status:                 a.Status, Header: a.Header, Body: io.NopCloser(bytes.NewReader([]byte(a.Text))),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}), a.Text)
}

// refused requires an error with this status and code, and returns it.
func (a answer) refused(t *testing.T, status int, code string) answer {
	t.Helper()
	require.Equal(t, status, a.Status, a.Text)
	require.Equal(t, code, a.str("code"), a.Text)
	require.NotEmpty(t, a.str("message"))
	return a
}

func (a answer) ok(t *testing.T) answer {
	t.Helper()
	require.Equal(t, http.StatusOK, a.Status, a.Text)
	return a
}

// charge charges cents, under a key.
func (c caller) charge(t *testing.T, mandate string, cents int, key string) answer {
	t.Helper()
	return c.do(t, "POST", "/v1/payments/charge", chargeBody(mandate, cents, key))
}

func chargeBody(mandate string, cents int, key string) string {
	b, _ := json.Marshal(map[string]any{
		"intentMandate": mandate, "amountCents": cents, "currency": "usd", "description": "October report", "idempotencyKey": key,
	})
	return string(b)
}

func (c caller) mandate(t *testing.T, perTx, monthly int64, methods ...string) string {
	t.Helper()
	return c.Mandate(t, servertest.Terms{MaxPerTxCents: perTx, MaxMonthlySpendCents: monthly, PaymentMethods: methods})
}
