package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/webhook"
)

func event(id string, t webhook.Type, data string) []byte {
	return fmt.Appendf(nil, `{"id":%q,"type":%q,"data":%s,"created_at":"2026-11-21T12:00:00.000Z","livemode":false}`, id, t, data)
}

func TestEachTypeHasItsFunction(t *testing.T) {
	t.Parallel()
	var got []string
	note := func(name string, e webhook.Event, what string) error {
		got = append(got, name+" "+e.ID+" "+what)
		return nil
	}
	h := handler(t, webhook.Config{
		Secrets: []string{secret}, Clock: atNoon,
		PaymentSucceeded: func(_ context.Context, e webhook.Event, p webhook.Payment) error {
			return note("succeeded", e, p.TransactionID)
		},
		PaymentFailed: func(_ context.Context, e webhook.Event, p webhook.Payment) error {
			return note("failed", e, p.FailureReason)
		},
		PaymentReversed: func(_ context.Context, e webhook.Event, p webhook.Payment) error {
			return note(p.Status, e, p.TxHash)
		},
		PaymentAuthorized: func(_ context.Context, e webhook.Event, p webhook.Payment) error {
			return note(p.Status, e, fmt.Sprint(p.AuthorizedMicros))
		},
		PaymentVoided: func(_ context.Context, e webhook.Event, p webhook.Payment) error {
			return note(p.Status, e, p.TransactionID)
		},
		PaymentRefunded: func(_ context.Context, e webhook.Event, p webhook.Payment) error {
			return note("refunded", e, p.Refund.ID)
		},
		PaymentRefundFailed: func(_ context.Context, e webhook.Event, p webhook.Payment) error {
			return note("refund failed", e, p.Refund.FailureReason)
		},
		MandateCreated: func(_ context.Context, e webhook.Event, d webhook.Mandate) error {
			return note("created", e, d.MandateID)
		},
		MandateRevoked: func(_ context.Context, e webhook.Event, d webhook.Mandate) error {
			return note("revoked", e, d.RevokedBy)
		},
		Other: func(_ context.Context, e webhook.Event) error { return note("other", e, string(e.Data)) },
	})
	for i, body := range [][]byte{
		event("evt_a", webhook.PaymentSucceeded, `{"transactionId":"txn_1"}`),
		event("evt_b", webhook.PaymentFailed, `{"failureReason":"card_declined"}`),
		event("evt_c", webhook.MandateCreated, `{"delegateId":"del_1","new":1}`),
		event("evt_d", webhook.MandateRevoked, `{"revokedBy":"user"}`),
		event("evt_f", webhook.PaymentReversed, `{"txHash":"0x1","status":"reversed"}`),
		event("evt_g", webhook.PaymentAuthorized, `{"authorizedMicros":7,"status":"authorized"}`),
		event("evt_h", webhook.PaymentVoided, `{"transactionId":"txn_2","status":"voided"}`),
		event("evt_i", webhook.PaymentRefunded, `{"refund":{"id":"rfd_1"}}`),
		event("evt_j", webhook.PaymentRefundFailed, `{"refund":{"failureReason":"processor_error"}}`),
		event("evt_e", "payment.of_tomorrow", `{"a":[1]}`),
	} {
		require.Equal(t, http.StatusNoContent, deliver(t, h, sign(t, noon, body, secret), body), i)
	}
	require.Equal(t, []string{
		"succeeded evt_a txn_1", "failed evt_b card_declined", "created evt_c del_1", "revoked evt_d user", "reversed evt_f 0x1",
		"authorized evt_g 7", "voided evt_h txn_2", "refunded evt_i rfd_1", "refund failed evt_j processor_error", `other evt_e {"a":[1]}`,
	}, got)
}

func TestTypesWithoutFunctionAreTaken(t *testing.T) {
	t.Parallel()
	h := handler(t, webhook.Config{Secrets: []string{secret}, Clock: atNoon})
	for _, kind := range append(webhook.Types(), webhook.Test) {
		body := event("evt_"+string(kind), kind, `{}`)
		require.Equal(t, http.StatusNoContent, deliver(t, h, sign(t, noon, body, secret), body))
	}
}

func TestAnErrorIsSentAgainAndThenOnce(t *testing.T) {
	t.Parallel()
	for _, remember := range []int{0, -1} {
		calls := 0
		h := handler(t, webhook.Config{
			Secrets: []string{secret}, Clock: atNoon, Remember: remember,
			PaymentSucceeded: func(context.Context, webhook.Event, webhook.Payment) error {
				if calls++; calls < 3 {
					return errors.New("database: whsec_hidden")
				}
				return nil
			},
		})
		header := sign(t, noon, payment, secret)
		for _, want := range []int{500, 500, 204, 204, 204} {
			require.Equal(t, want, deliver(t, h, header, payment))
		}
		require.Equal(t, map[int]int{0: 3, -1: 5}[remember], calls)
	}
}

func TestDataThatDoesNotFitIsSentAgain(t *testing.T) {
	t.Parallel()
	h := handler(t, webhook.Config{
		Secrets: []string{secret}, Clock: atNoon,
		PaymentSucceeded: func(context.Context, webhook.Event, webhook.Payment) error { return nil },
	})
	body := event("evt_1", webhook.PaymentSucceeded, `{"amountCents":"x"}`)
	require.Equal(t, http.StatusInternalServerError, deliver(t, h, sign(t, noon, body, secret), body))
}

func TestWhatIsNoDeliveryIsRefused(t *testing.T) {
	t.Parallel()
	h := handler(t, webhook.Config{
		Secrets: []string{secret}, Clock: atNoon,
		PaymentSucceeded: func(context.Context, webhook.Event, webhook.Payment) error {
			t.Error("an event came through")
			return nil
		},
	})
	require.Equal(t, 400, deliver(t, h, http.Header{}, payment))
	require.Equal(t, 400, deliver(t, h, sign(t, noon, payment, webhook.NewSecret()), payment))
	require.Equal(t, 413, deliver(t, h, sign(t, noon, payment, secret), bytes.Repeat([]byte{'x'}, webhook.MaxBody+1)))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	require.Equal(t, 405, w.Code)
	require.Equal(t, "POST", w.Header().Get("Allow"))
}

func TestHandlerWithABadConfigurationIsNotMade(t *testing.T) {
	t.Parallel()
	for text, bad := range map[string]webhook.Config{
		"Secrets is empty":      {},
		"Secrets[1]":            {Secrets: []string{secret, "whsec_hidden"}},
		"Tolerance is negative": {Secrets: []string{secret}, Tolerance: -1},
	} {
		h, err := webhook.NewHandler(bad)
		require.ErrorContains(t, err, text)
		require.NotContains(t, err.Error(), "hidden")
		require.Nil(t, h)
		if bad.Tolerance == 0 {
			require.ErrorIs(t, err, webhook.ErrSecret)
		}
	}
}

// TestConcurrentDeliveriesOfOneEvent: the function runs once, and all deliveries get
// its answer.
func TestConcurrentDeliveriesOfOneEvent(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	inside, leave := make(chan struct{}), make(chan struct{})
	h := handler(t, webhook.Config{
		Secrets: []string{secret}, Clock: atNoon,
		PaymentSucceeded: func(context.Context, webhook.Event, webhook.Payment) error {
			if calls.Add(1) == 1 {
				close(inside)
				<-leave
			}
			return nil
		},
	})
	header := sign(t, noon, payment, secret)
	var all sync.WaitGroup
	statuses := make([]int, 8)
	for i := range statuses {
		all.Go(func() { statuses[i] = deliver(t, h, header, payment) })
	}
	<-inside
	close(leave)
	all.Wait()
	for _, s := range statuses {
		require.Equal(t, http.StatusNoContent, s)
	}
	require.EqualValues(t, 1, calls.Load())
}

func TestAPanicIsNotTaken(t *testing.T) {
	t.Parallel()
	calls := 0
	h := handler(t, webhook.Config{
		Secrets: []string{secret}, Clock: atNoon,
		PaymentSucceeded: func(context.Context, webhook.Event, webhook.Payment) error {
			if calls++; calls == 1 {
				panic("bug")
			}
			return nil
		},
	})
	header := sign(t, noon, payment, secret)
	require.PanicsWithValue(t, "bug", func() { deliver(t, h, header, payment) })
	require.Equal(t, http.StatusNoContent, deliver(t, h, header, payment))
	require.Equal(t, 2, calls)
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	h := handler(t, webhook.Config{
		Secrets: []string{secret}, Clock: atNoon, Remember: 2,
		Other: func(_ context.Context, e webhook.Event) error {
			got.WriteString(e.ID)
			return nil
		},
	})
	for _, id := range []string{"a", "b", "a", "b", "c", "b", "a", "a", "c", "b"} {
		body := event(id, "x", "{}")
		require.Equal(t, 204, deliver(t, h, sign(t, noon, body, secret), body))
	}
	require.Equal(t, "abcab", got.String(), "the two latest are remembered")
}
