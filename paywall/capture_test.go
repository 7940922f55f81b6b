package paywall_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

func TestCaptureWithoutAnswerIsRepeatedInTheBackground(t *testing.T) {
	t.Parallel()
	w, paid := metered(t, nil)
	lost := 0
	w.service.bend(func(rw http.ResponseWriter, r *http.Request, settle func()) bool {
		if !strings.HasSuffix(r.URL.Path, "/capture") || lost >= 5 {
			return false
		}
		if lost++; lost == 1 {
			settle() // done, but its answer is lost, and those of all retries
		}
		http.Error(rw, "down", http.StatusBadGateway)
		return true
	})
	w.handler = func(_ http.ResponseWriter, r *http.Request) { _ = paywall.MeterFrom(r.Context()).Add(3000) }
	rec := w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal())
	require.Equal(t, http.StatusOK, rec.Code)
	s := receiptOf(t, rec.Result().Header.Get("X-Payment-Response"))
	require.Equal(t, []any{false, x402.ReasonPending, int64(0)}, []any{s.Success, s.ErrorReason, s.Metered.CapturedMicros})
	require.Eventually(t, func() bool { return len(paid()) == 1 }, 4*shortTimeout, 10*time.Millisecond)
	require.Equal(t, []string{"capture txn_1 3000"}, w.service.ended(), "charged once")
	require.NoError(t, w.gate.Shutdown(t.Context()))
}

func TestShutdownStopsWhatIsInTheBackground(t *testing.T) {
	t.Parallel()
	w, paid := metered(t, nil)
	w.service.bend(func(rw http.ResponseWriter, r *http.Request, _ func()) bool {
		if strings.HasSuffix(r.URL.Path, "/capture") {
			http.Error(rw, "down", http.StatusBadGateway)
			return true
		}
		return false
	})
	w.handler = func(_ http.ResponseWriter, r *http.Request) { _ = paywall.MeterFrom(r.Context()).Add(3000) }
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, w.gate.Shutdown(ctx), context.DeadlineExceeded)
	require.NoError(t, w.gate.Shutdown(t.Context()), "twice")
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code)
	require.Empty(t, paid())
}

// TestPendingCaptureIsPaidWhenItsRailHasDecided: the hook is called then.
func TestPendingCaptureIsPaidWhenItsRailHasDecided(t *testing.T) {
	t.Parallel()
	w, paid := metered(t, nil)
	asked := 0
	w.service.bend(func(rw http.ResponseWriter, r *http.Request, settle func()) bool {
		if !strings.HasSuffix(r.URL.Path, "/capture") {
			return false
		}
		settle()
		if asked++; asked > 2 {
			return false
		}
		_, _ = io.WriteString(rw, `{"transactionId":"txn_1","status":"pending"}`)
		return true
	})
	w.handler = func(_ http.ResponseWriter, r *http.Request) { _ = paywall.MeterFrom(r.Context()).Add(3000) }
	rec := w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal())
	require.Equal(t, http.StatusOK, rec.Code)
	require.Equal(t, x402.ReasonPending, receiptOf(t, rec.Result().Header.Get("X-Payment-Response")).ErrorReason)
	require.Empty(t, paid())
	require.Eventually(t, func() bool { return len(paid()) == 1 }, 4*shortTimeout, 10*time.Millisecond)
	require.EqualValues(t, 3000, paid()[0].AmountMicros)
}

// TestHandlersResponseStaysIfItsHoldCannotBeVoided: it was voided by its expiry.
func TestHandlersResponseStaysIfItsHoldCannotBeVoided(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, nil)
	w.service.bend(func(rw http.ResponseWriter, r *http.Request, _ func()) bool {
		if strings.HasSuffix(r.URL.Path, "/void") {
			rw.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(rw, `{"code":"authorization_ended","message":"m","requestId":"req_1"}`)
			return true
		}
		return false
	})
	for _, status := range []int{http.StatusOK, http.StatusBadGateway} {
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(status) }
		require.Equal(t, status, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code)
	}
}

// TestRefusedCaptureServesNothing: unless the response streams.
func TestRefusedCaptureServesNothing(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		`{"transactionId":"txn_1","status":"failed","failureReason":"insufficient_funds"}`:                    "insufficient_funds",
		`{"code":"mandate_revoked","message":"The mandate is revoked.","requestId":"req_1"}`:                  "mandate_revoked",
		`{"code":"authorization_ended","message":"The authorization has expired.","requestId":"req_1"}`:       "authorization_ended",
		`{"code":"validation_error","message":"a secret of the merchant","requestId":"req_1","param":"sdfs"}`: "facilitator_unavailable",
	} {
		w, paid := metered(t, nil)
		w.service.bend(func(rw http.ResponseWriter, r *http.Request, _ func()) bool {
			if !strings.HasSuffix(r.URL.Path, "/capture") {
				return false
			}
			if strings.Contains(answer, "code") {
				rw.WriteHeader(map[string]int{"mandate_revoked": 403, "authorization_ended": 409}[want] | map[string]int{"facilitator_unavailable": 400}[want])
			}
			_, _ = io.WriteString(rw, answer)
			return true
		})
		w.handler = func(rw http.ResponseWriter, r *http.Request) {
			_ = paywall.MeterFrom(r.Context()).Add(3000)
			rw.Header().Set("X-Leak", "of the handler")
			_, _ = io.WriteString(rw, "sunny")
		}
		rec := w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal())
		require.NotEqual(t, http.StatusOK, rec.Code, want)
		require.Equal(t, want, body(t, rec)["code"])
		require.NotContains(t, rec.Body.String(), "sunny")
		require.NotContains(t, rec.Body.String(), "secret")
		require.Empty(t, rec.Result().Header.Get("X-Leak"))
		require.Empty(t, paid())

		w.handler = func(rw http.ResponseWriter, r *http.Request) {
			_ = paywall.MeterFrom(r.Context()).Add(3000)
			flush(rw)
		}
		rec = w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal())
		require.Equal(t, http.StatusOK, rec.Code, "it was sent before")
		require.False(t, receiptOf(t, rec.Result().Trailer.Get("X-Payment-Response")).Success)
	}
}
