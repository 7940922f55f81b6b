package paywall_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/paywall"
)

// refunding returns a world whose gate refunds what was not served.
func refunding(t *testing.T, status client.RefundStatus, change ...func(*paywall.Config)) *world {
	t.Helper()
	w := setup(t, func(c *paywall.Config) {
		for _, one := range change {
			one(c)
		}
		c.RefundUnserved, c.Merchant = true, paywall.Merchant{ID: "mer_1", APIKey: "sk_test_1"}
		c.SignRefund = func(context.Context, client.Refund) (string, error) { return "", errors.New("no key") }
	})
	w.service.refunds = status
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), shortTimeout)
		defer cancel()
		_ = w.gate.Shutdown(ctx)
	})
	return w
}

// buy sends a request that names its payment.
func (w *world) buy() *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	func() {
		defer func() { _ = recover() }()
		w.protected(w.gate).ServeHTTP(rec, request(http.MethodGet, "X-Service-Mandate", w.service.mandate(nil).Reveal(), "Idempotency-Key", "one"))
	}()
	return rec
}

func TestUnservedPaymentIsRefundedOnceAndNotServedAgain(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"error":    func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) },
		"panic":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"declined": func(_ http.ResponseWriter, r *http.Request) { paywall.Decline(r.Context()) },
	} {
		for _, status := range []client.RefundStatus{client.RefundSucceeded, client.RefundPending} {
			t.Run(name+" "+string(status), func(t *testing.T) {
				t.Parallel()
				w := refunding(t, status)
				w.handler = handler
				w.buy()
				require.Equal(t, []string{"refunds txn_1 0"}, w.service.ended())
				w.handler = func(http.ResponseWriter, *http.Request) {}
				for range 3 {
					again := w.buy()
					require.Equal(t, http.StatusPaymentRequired, again.Code)
					require.Equal(t, "payment_refunded", body(t, again)["code"])
				}
				require.Equal(t, []string{"refunds txn_1 0"}, w.service.ended(), "once")
				require.EqualValues(t, 1, w.served.Load())
			})
		}
	}
}

// TestGateSignsOnlyTheRefundOfItsPayment: a false service could otherwise empty
// the merchant's wallet.
func TestGateSignsOnlyTheRefundOfItsPayment(t *testing.T) {
	t.Parallel()
	const good = `{"id":"rfd_1","transactionId":"txn_1","status":"pending","amountCents":1,"signature":{"signer":"` + payTo + `","expiresAt":"2026-11-23T00:00:00Z",` +
		`"typedData":{"primaryType":"TransferWithAuthorization","domain":{"verifyingContract":"0x036CbD53842c5426634e7929541eC2318f3dCF7e"},` +
		`"message":{"from":"` + payTo + `","to":"` + payer + `","value":"10000"}}}}`
	for name, tc := range map[string]struct {
		old, changed string
		signed       bool
	}{
		"the refund":                 {"", "", true},
		"of another payment":         {"txn_1", "txn_2", false},
		"of more":                    {`Cents":1`, `Cents":2`, false},
		"of nothing":                 {`Cents":1`, `Cents":0`, false},
		"of more than it says":       {`"10000"`, `"10001"`, false},
		"of no amount":               {`"10000"`, `"-1"`, false},
		"to another wallet":          {`"to":"` + payer, `"to":"` + payTo, false},
		"of another token":           {"0x036C", "0x036D", false},
		"of another kind of message": {"TransferWith", "ReceiveWith", false},
	} {
		var asked atomic.Int64
		w := setup(t, func(c *paywall.Config) {
			c.RefundUnserved, c.Merchant = true, paywall.Merchant{ID: "mer_1", APIKey: "sk_test_1"}
			c.SignRefund = func(context.Context, client.Refund) (string, error) {
				asked.Add(1)
				return "", errors.New("no key")
			}
		})
		w.service.bend(func(rw http.ResponseWriter, r *http.Request, _ func()) bool {
			if strings.HasSuffix(r.URL.Path, "/refunds") {
				_, _ = rw.Write([]byte(strings.Replace(good, tc.old, tc.changed, 1)))
			}
			return strings.HasSuffix(r.URL.Path, "/refunds")
		})
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
		w.buy()
		require.Equal(t, tc.signed, asked.Load() == 1, name)
	}
}

// TestPaymentOnTheChainIsNotRefundedIfNobodySigns: its credential stays good.
func TestPaymentOnTheChainIsNotRefundedIfNobodySigns(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) {
		c.RefundUnserved, c.Merchant = true, paywall.Merchant{ID: "mer_1", APIKey: "sk_test_1"}
	})
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	w.buy()
	require.Empty(t, w.service.ended())
	w.handler = func(http.ResponseWriter, *http.Request) {}
	require.Equal(t, http.StatusOK, w.buy().Code)
	require.Equal(t, 1, w.service.count("/v1/paywall/settle"))
}

func TestOnlyTheHandlersFailureIsRefunded(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"served":       func(http.ResponseWriter, *http.Request) {},
		"client error": func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNotFound) },
	} {
		w := refunding(t, client.RefundSucceeded)
		w.handler = handler
		w.buy()
		require.Empty(t, w.service.ended(), name)
	}
	w := setup(t, nil)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	w.buy()
	require.Empty(t, w.service.ended(), "off by default")
}

// TestPaymentThatCannotBeRefundedStaysGood: such as one on a chain without refunds.
func TestPaymentThatCannotBeRefundedStaysGood(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]string{"refused": `{"code":"not_refundable","message":"m","requestId":"req_1"}`, "failed": ""} {
		w := refunding(t, client.RefundFailed)
		w.service.bend(func(rw http.ResponseWriter, r *http.Request, _ func()) bool {
			if refuse == "" || !strings.HasSuffix(r.URL.Path, "/refunds") {
				return false
			}
			rw.WriteHeader(http.StatusConflict)
			_, _ = rw.Write([]byte(refuse))
			return true
		})
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
		w.buy()
		w.handler = func(http.ResponseWriter, *http.Request) {}
		require.Equal(t, http.StatusOK, w.buy().Code, name)
		require.Equal(t, http.StatusPaymentRequired, w.buy().Code, "served once")
	}
}

// TestRefundThatFailsLaterMakesThePaymentGoodAgain: the merchant did not sign it in time.
func TestRefundThatFailsLaterMakesThePaymentGoodAgain(t *testing.T) {
	t.Parallel()
	w := refunding(t, client.RefundPending)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	w.buy()
	pending := body(t, w.buy())
	require.Equal(t, "payment_refunded", pending["code"])
	require.Contains(t, pending["message"], "is being given back")
	w.clock.Advance(24*time.Hour + time.Minute) // as long as it may be signed
	w.service.mu.Lock()
	for key := range w.service.first {
		if strings.HasPrefix(key, "refunds:") {
			w.service.first[key] = `{"id":"rfd_1","transactionId":"txn_1","status":"failed"}`
		}
	}
	w.service.mu.Unlock()
	w.handler = func(http.ResponseWriter, *http.Request) {}
	require.Equal(t, http.StatusOK, w.buy().Code)
	require.Equal(t, 1, w.service.count("/v1/paywall/settle"), "and is not settled again")
}

func TestRefundWithoutAnswerIsRepeatedInTheBackground(t *testing.T) {
	t.Parallel()
	w := refunding(t, client.RefundSucceeded)
	down := true
	w.service.bend(func(rw http.ResponseWriter, r *http.Request, _ func()) bool {
		w.service.mu.Lock()
		defer w.service.mu.Unlock()
		if down && strings.HasSuffix(r.URL.Path, "/refunds") {
			http.Error(rw, "down", http.StatusBadGateway)
			return true
		}
		return false
	})
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	w.buy()
	require.Equal(t, http.StatusBadGateway, w.buy().Code, "its outcome is unknown")
	w.service.mu.Lock()
	down = false
	w.service.mu.Unlock()
	require.Eventually(t, func() bool { return len(w.service.ended()) == 1 }, 4*shortTimeout, 10*time.Millisecond)
	require.Equal(t, http.StatusPaymentRequired, w.buy().Code)
	require.Equal(t, []string{"refunds txn_1 0"}, w.service.ended())
	require.EqualValues(t, 1, w.served.Load())
}

// TestNextRequestOfABareMandateIsAnotherPurchaseAfterARefund: the key of the refunded payment
// is not used again.
func TestNextRequestOfABareMandateIsAnotherPurchaseAfterARefund(t *testing.T) {
	t.Parallel()
	w := refunding(t, client.RefundPending)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	token := w.service.mandate(nil).Reveal()
	w.ask("X-Service-Mandate", token)
	w.handler = func(http.ResponseWriter, *http.Request) {}
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", token).Code)
	require.Equal(t, 2, w.service.count("/v1/paywall/settle"))
}

// TestFailingHandlerStopsPayments: after five refunds of a mandate the gate takes no more of its
// payments until the window has passed. Other mandates pay, and what was paid before is served.
func TestFailingHandlerStopsPayments(t *testing.T) {
	t.Parallel()
	w := refunding(t, client.RefundSucceeded)
	token, other := w.service.mandate(nil).Reveal(), w.service.mandate(func(m *mandate.Terms) { m.ID = "del_01JD7Q8XKQ2V5T9N3W6Y0ZB4CG" }).Reveal()
	ask := func(token, key string) *httptest.ResponseRecorder {
		return w.ask("X-Service-Mandate", token, "Idempotency-Key", key)
	}
	require.Equal(t, http.StatusOK, ask(token, "served").Code)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNotFound) }
	require.Equal(t, http.StatusNotFound, ask(token, "unserved").Code, "its payment stays good")
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }
	for i := range paywall.DefaultMaxUnserved {
		require.Equal(t, http.StatusInternalServerError, ask(token, fmt.Sprint("failed ", i)).Code)
		w.clock.Advance(time.Minute)
	}
	settled := w.service.count("/v1/paywall/settle")
	for range 3 {
		braked := ask(token, "braked")
		require.Equal(t, http.StatusServiceUnavailable, braked.Code)
		require.Equal(t, "unavailable", body(t, braked)["code"])
		require.Equal(t, "300", braked.Header().Get("Retry-After"))
	}
	require.Equal(t, settled, w.service.count("/v1/paywall/settle"), "nothing was taken")
	require.Len(t, w.service.ended(), paywall.DefaultMaxUnserved)
	require.Equal(t, http.StatusInternalServerError, ask(other, "other").Code)
	w.handler = func(http.ResponseWriter, *http.Request) {}
	require.Equal(t, http.StatusOK, ask(token, "unserved").Code)
	require.Equal(t, http.StatusServiceUnavailable, ask(token, "braked").Code)
	w.clock.Advance(5 * time.Minute)
	require.Equal(t, http.StatusOK, ask(token, "braked").Code)
}

func TestRefundsWithoutALimit(t *testing.T) {
	t.Parallel()
	w := refunding(t, client.RefundSucceeded, func(c *paywall.Config) { c.MaxUnserved = -1 })
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }
	for i := range 2 * paywall.DefaultMaxUnserved {
		require.Equal(t, http.StatusInternalServerError, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal(), "Idempotency-Key", fmt.Sprint(i)).Code)
	}
	require.Len(t, w.service.ended(), 2*paywall.DefaultMaxUnserved)
}
