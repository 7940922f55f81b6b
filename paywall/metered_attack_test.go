package paywall_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
)

// TestClientThatStopsReadingPaysWhatItRead checks a handler that is stuck in a write until the
// hold has ended. The hold of this test ends a second after the meter starts.
func TestClientThatStopsReadingPaysWhatItRead(t *testing.T) {
	t.Parallel()
	w, paid := metered(t, nil)
	w.service.bend(func(rw http.ResponseWriter, r *http.Request, settle func()) bool {
		if r.URL.Path != "/v1/paywall/settle" {
			return false
		}
		settle()
		_, _ = fmt.Fprintf(rw, `{"success":true,"transaction":"","network":"eip155:84532","payer":%q,"transactionId":"txn_1","authorizedUntil":%q}`,
			payer, w.clock.Now().Add(31*time.Second).UTC().Format(time.RFC3339))
		return true
	})
	release, returned := make(chan struct{}), make(chan error, 1)
	w.handler = func(rw http.ResponseWriter, r *http.Request) {
		_ = paywall.MeterFrom(r.Context()).Add(3000)
		_, _ = io.WriteString(rw, "sunny")
		flush(rw)
		w.clock.Advance(time.Second)
		<-release // in a write that the client does not read
		returned <- paywall.MeterFrom(r.Context()).Add(1)
		_, _ = io.WriteString(rw, " and warm")
	}
	srv := httptest.NewServer(w.protected(w.gate))
	defer srv.Close()
	letGo := sync.OnceFunc(func() { close(release) })
	defer letGo()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, http.NoBody)
	require.NoError(t, err)
	r.Header.Set("X-Service-Mandate", w.service.mandate(nil).Reveal())
	resp, err := srv.Client().Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Eventually(t, func() bool { return len(paid()) == 1 }, shortTimeout, 10*time.Millisecond, "it is captured while the handler runs")
	letGo()
	require.EqualValues(t, 3000, paid()[0].AmountMicros)
	require.ErrorIs(t, <-returned, paywall.ErrMeterEnded)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, "sunny and warm", string(text))
	require.EqualValues(t, 3000, receiptOf(t, resp.Trailer.Get("X-Payment-Response")).Metered.CapturedMicros)
	require.Equal(t, []string{"capture txn_1 3000"}, w.service.ended(), "once")
}

// TestErrorAfterTheClientLeftIsNoReasonNotToPay: a handler whose client leaves usually fails.
func TestErrorAfterTheClientLeftIsNoReasonNotToPay(t *testing.T) {
	t.Parallel()
	leaves := func(w *world) {
		ctx, cancel := context.WithCancel(context.Background())
		w.handler = func(rw http.ResponseWriter, r *http.Request) {
			_ = paywall.MeterFrom(r.Context()).Add(3000)
			cancel()
			<-r.Context().Done()
			http.Error(rw, "upstream canceled", http.StatusBadGateway)
		}
		w.send(w.gate, request(http.MethodGet, "X-Service-Mandate", w.service.mandate(nil).Reveal(), "Idempotency-Key", "1").WithContext(ctx))
	}
	w, _ := metered(t, nil)
	leaves(w)
	require.Equal(t, []string{"capture txn_1 3000"}, w.service.ended())
	w = refunding(t, client.RefundSucceeded)
	leaves(w)
	require.EqualValues(t, 1, w.served.Load())
	require.Empty(t, w.service.ended(), "it is not refunded")
}

func TestHeadOfAMeteredRouteRunsNothing(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, nil)
	rec := w.send(w.gate, request(http.MethodHead, "X-Service-Mandate", w.service.mandate(nil).Reveal()))
	require.Equal(t, http.StatusPaymentRequired, rec.Code)
	require.NotEmpty(t, rec.Result().Header.Get("Payment-Required"))
	require.Zero(t, w.served.Load())
	require.Empty(t, w.service.mandates, "nothing is held")
}

// TestPayerWhoseRequestsCountAndFailIsStopped checks requests in a row that run and are void.
func TestPayerWhoseRequestsCountAndFailIsStopped(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, nil)
	status := http.StatusBadRequest
	w.handler = func(rw http.ResponseWriter, r *http.Request) {
		_ = paywall.MeterFrom(r.Context()).Add(3000)
		rw.WriteHeader(status)
	}
	token := w.service.mandate(nil).Reveal()
	ask := func(status int) {
		require.Equal(t, status, w.ask("X-Service-Mandate", token).Code)
	}
	for range 4 {
		ask(http.StatusBadRequest)
	}
	status = http.StatusOK
	ask(http.StatusOK) // a payment
	status = http.StatusBadRequest
	for range 5 {
		ask(http.StatusBadRequest)
	}
	ran := w.served.Load()
	ask(http.StatusTooManyRequests)
	require.Equal(t, ran, w.served.Load())
	w.clock.Advance(paywall.UnservedWindow)
	ask(http.StatusBadRequest)
}

func TestUptoIsNotOfferedForTheWalletOfAnother(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w, _ := meteredUpto(t, func(c *paywall.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	w.service.verdict = `{"isValid":false,"invalidReason":"upto_merchant_required"}`
	payments := []string{w.payUpto(w.gate, 1, nil), w.payUpto(w.gate, 2, nil)}
	require.Equal(t, "upto_merchant_required", body(t, w.ask("PAYMENT-SIGNATURE", payments[0]))["code"])
	require.Equal(t, "invalid_payment_requirements", body(t, w.ask("PAYMENT-SIGNATURE", payments[1]))["code"])
	_, _, offered := w.offered(w.gate)
	require.False(t, offered)
	w.clock.Advance(10 * time.Minute)
	require.Equal(t, "upto_merchant_required", body(t, w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 3, nil)))["code"])
	require.Equal(t, 1, strings.Count(log.String(), "PayTo is not the wallet of Merchant"))

	_, err := w.gate.Derive(paywall.Route{Resource: resource, Metered: true, PayToFunc: func(*http.Request) (string, error) { return payTo, nil }})
	require.ErrorContains(t, err, "paywall: Metered: needs PayTo")
}
