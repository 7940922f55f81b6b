package webhook_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/webhook"
)

var (
	noon    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	payment = []byte(`{"id":"evt_1","type":"payment.succeeded","data":{"transactionId":"txn_1","delegateId":"del_1","amountCents":250,"amountMicros":2500000,"rail":"fiatrail","status":"succeeded"},"created_at":"2026-11-21T12:00:00.000Z","livemode":false}`)
)

const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

func atNoon() time.Time { return noon }

func verifier(secrets ...string) webhook.Verifier {
	return webhook.Verifier{Secrets: secrets, Clock: atNoon}
}

func sign(t require.TestingT, at time.Time, body []byte, secrets ...string) http.Header {
	h, err := webhook.Sign("evt_1", at, body, secrets...)
	require.NoError(t, err)
	return h
}

func handler(t require.TestingT, cfg webhook.Config) http.Handler {
	h, err := webhook.NewHandler(cfg)
	require.NoError(t, err)
	return h
}

// deliver sends a delivery to a handler and returns the answer's status.
func deliver(t *testing.T, h http.Handler, header http.Header, body []byte) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks", bytes.NewReader(body))
	r.Header = header
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.NotContains(t, w.Body.String(), "whsec_")
	return w.Code
}
