package paywall_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

type mandateParams = client.PaywallSettlementParams

func marshal(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

func base64Text(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// serve runs one request and takes the panic of its handler, as a server does.
func serve(h http.Handler, r *http.Request) (rec *httptest.ResponseRecorder, panicked any) {
	rec = httptest.NewRecorder()
	defer func() { panicked = recover() }()
	h.ServeHTTP(rec, r)
	return rec, nil
}

func TestUnfulfilledPaymentOpensOnceMoreWithoutASecondTransfer(t *testing.T) {
	t.Parallel()
	status := func(code int) func(http.ResponseWriter, *http.Request) {
		return func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "not this", code) }
	}
	for name, fail := range map[string]func(http.ResponseWriter, *http.Request){
		"500": status(500), "400": status(400), "404": status(404), "409": status(409), "429": status(429),
		"503":        func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) },
		"304":        func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(304) },
		"panic":      func(http.ResponseWriter, *http.Request) { panic("broken") },
		"late panic": func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "su"); panic("broken") },
		"declined": func(rw http.ResponseWriter, r *http.Request) {
			paywall.Decline(r.Context())
			_, _ = io.WriteString(rw, "nothing found")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, nil, func(t *testing.T, w *world, c credential) {
				paid := c.pay(w, w.gate)
				h := w.protected(w.gate)
				for range 3 {
					w.handler = fail
					_, _ = serve(h, request(http.MethodGet, c.header, paid))
				}
				w.handler = func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "sunny") }
				rec := w.ask(c.header, paid)
				require.Equal(t, 200, rec.Code)
				require.NotEmpty(t, rec.Result().Header.Get(c.told))
				require.Equal(t, transaction(1), w.seen.Transaction)
				require.Equal(t, 1, w.service.moved())
				require.Equal(t, 1, w.service.count(c.path), "settled without asking again")
				requireRefusal(t, w.ask(c.header, paid), 402, "already_redeemed")
			})
		})
	}
}

func TestPanicsGoOn(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	w.handler = func(http.ResponseWriter, *http.Request) { panic("broken") }
	_, panicked := serve(w.protected(w.gate), request(http.MethodGet, "X-PAYMENT", w.payX402V1(w.gate, nil)))
	require.Equal(t, "broken", panicked)
}

func TestBareMandateThatWasNotServedIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	token := w.service.mandate(nil).Reveal()
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	require.Equal(t, 500, w.ask("X-Service-Mandate", token).Code)
	require.Equal(t, 500, w.ask("X-Service-Mandate", token).Code)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "sunny") }
	dear := w.gate.With(paywall.Route{Price: "0.02", Resource: resource})
	require.Equal(t, 200, w.through(dear, "X-Service-Mandate", token).Code)
	require.Equal(t, 2, w.service.moved(), "a payment for another price is its own")
	require.Equal(t, 200, w.ask("X-Service-Mandate", token).Code)
	require.Equal(t, 2, w.service.moved())
	require.Equal(t, 200, w.ask("X-Service-Mandate", token).Code)
	require.Equal(t, 3, w.service.moved())
}

func TestLeftoversOfABareMandateEndWithTheirRedemption(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	token := w.service.mandate(nil).Reveal()
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	require.Equal(t, 500, w.ask("X-Service-Mandate", token).Code)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "sunny") }
	w.clock.Advance(25 * time.Hour)
	require.Equal(t, 200, w.ask("X-Service-Mandate", token).Code)
	require.Equal(t, 2, w.service.moved())
}

func TestIdempotencyKeyOfAnOutageFindsThePayment(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	token := w.service.mandate(nil).Reveal()
	w.service.bend(func(rw http.ResponseWriter, _ *http.Request, settle func()) bool {
		settle()
		rw.WriteHeader(502)
		return true
	})
	rec := w.ask("X-Service-Mandate", token)
	key := rec.Result().Header.Get("Idempotency-Key")
	require.NotEmpty(t, key)
	w.service.bend(nil)
	require.Equal(t, 200, w.ask("X-Service-Mandate", token, "Idempotency-Key", key).Code)
	require.Equal(t, 1, w.service.moved())
}

func TestClientThatLeavesBeforeTheAnswerMayComeBack(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		paid := c.pay(w, w.gate)
		ctx, cancel := context.WithCancel(t.Context())
		w.handler = func(http.ResponseWriter, *http.Request) { cancel() }
		w.send(w.gate, request(http.MethodGet, c.header, paid).WithContext(ctx))
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "sunny") }
		require.Equal(t, 200, w.ask(c.header, paid).Code)
		require.Equal(t, 1, w.service.moved())
	})
}

func TestClientThatLeavesDuringTheAnswerHasHadIt(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for name, after := range map[string]func(){"returns": func() {}, "panics": func() { panic(http.ErrAbortHandler) }} {
		paid := w.payX402V1(w.gate, nil)
		ctx, cancel := context.WithCancel(t.Context())
		w.handler = func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(rw, "most of it")
			cancel()
			after()
		}
		_, _ = serve(w.protected(w.gate), request(http.MethodGet, "X-PAYMENT", paid).WithContext(ctx))
		require.Equal(t, 402, w.ask("X-PAYMENT", paid).Code, name)
	}
}

func TestSettlementGoesOnWhenTheClientLeaves(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		paid := c.pay(w, w.gate)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w.send(w.gate, request(http.MethodGet, c.header, paid).WithContext(ctx))
		require.Equal(t, 1, w.service.moved(), "a settlement that is broken off has an unknown outcome")
	})
}

func TestReplayedSettlementIsNotServedAgain(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		paid := c.pay(w, w.gate)
		other := w.newGate(nil) // another instance, or this one after a restart
		require.Equal(t, 200, w.ask(c.header, paid).Code)
		requireRefusal(t, w.through(other, c.header, paid), 402, "already_redeemed")
		require.EqualValues(t, 1, w.served.Load())
		require.Equal(t, 1, w.service.moved())
	})
}

func TestSharedRedemptionsServeOnceAmongInstances(t *testing.T) {
	t.Parallel()
	shared := paywall.NewMemory(paywall.MemoryConfig{Clock: newClock().Now})
	each(t, func(c *paywall.Config) { c.Redemptions = shared }, func(t *testing.T, w *world, c credential) {
		paid := c.pay(w, w.gate)
		other := w.newGate(func(c *paywall.Config) { c.Redemptions = shared })
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
		require.Equal(t, 500, w.ask(c.header, paid).Code)
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "sunny") }
		require.Equal(t, 200, w.through(other, c.header, paid).Code)
		require.Equal(t, 402, w.ask(c.header, paid).Code)
		require.Equal(t, 1, w.service.moved())
	})
}

func TestPendingTransferIsSettledOnceMoreThen504(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x402 v2", "x402 v1", "mpp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, c := setup(t, nil), credentials()[name]
			paid := c.pay(w, w.gate)
			pending := 1
			w.service.bend(func(rw http.ResponseWriter, _ *http.Request, settle func()) bool {
				settle()
				if pending--; pending < 0 {
					return false
				}
				_, _ = fmt.Fprintf(rw, `{"success":false,"errorReason":"settlement_pending","transaction":%q,"network":"base-sepolia"}`, transaction(1))
				return true
			})
			require.Equal(t, 200, w.ask(c.header, paid).Code, "the second look finds it")
			pending = 2
			paid = c.pay(w, w.gate)
			rec := w.ask(c.header, paid)
			require.Equal(t, 504, rec.Code)
			require.Equal(t, "settlement_pending", body(t, rec)["code"])
			require.NotEmpty(t, rec.Result().Header.Get("Retry-After"))
			require.Equal(t, 200, w.ask(c.header, paid).Code)
			require.Equal(t, 2, w.service.moved())
		})
	}
}

func TestLostTransferOfAnExternalFacilitatorIsFoundByTheService(t *testing.T) {
	t.Parallel()
	external := newService(t, newClock())
	w := setup(t, func(c *paywall.Config) { c.ExternalFacilitator = external.URL + "/v1/x402" })
	paid := w.payX402(w.gate, nil)
	first := true
	external.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
		if first {
			first = false
			rw.WriteHeader(502) // it has landed, without a response
			return true
		}
		_, _ = io.WriteString(rw, `{"success":false,"errorReason":"invalid_exact_evm_nonce_already_used","transaction":"","network":"eip155:84532"}`)
		return true
	})
	require.Equal(t, 502, w.ask("PAYMENT-SIGNATURE", paid).Code)
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", paid).Code)

	// A nonce that another gate used is not a payment of ours.
	requireRefusal(t, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, nil)), 402, "invalid_exact_evm_nonce_already_used")
	require.Equal(t, 1, w.service.count("/v1/x402/settle"))
}

func TestRefusalAfterAnUnclearTrySaysNothingOfThatOne(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		paid := c.pay(w, w.gate)
		w.service.bend(func(rw http.ResponseWriter, _ *http.Request, settle func()) bool {
			settle()
			rw.WriteHeader(502)
			return true
		})
		require.Equal(t, 502, w.ask(c.header, paid).Code)
		w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
			_, _ = io.WriteString(rw, `{"success":false,"errorReason":"insufficient_funds"}`)
			return true
		})
		require.Equal(t, 402, w.ask(c.header, paid).Code)
		w.service.bend(nil)
		require.Equal(t, 200, w.ask(c.header, paid).Code, "the first try had landed, and is found")
		require.Equal(t, 1, w.service.moved())
	})
}

func TestUnclearTryIsNotVerifiedAgain(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	paid := w.payX402(w.gate, nil)
	w.service.bend(func(rw http.ResponseWriter, _ *http.Request, settle func()) bool {
		settle()
		rw.WriteHeader(502)
		return true
	})
	require.Equal(t, 502, w.ask("PAYMENT-SIGNATURE", paid).Code)
	w.service.bend(nil)
	w.service.verdict = `{"isValid":false,"invalidReason":"insufficient_funds"}`
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", paid).Code, "the money is gone, to us")
}

func TestUnfulfilledPaymentOpensNoOtherRouteOfThePrice(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x402 v1", "mpp"} {
		w, c := setup(t, nil), credentials()[name]
		other := w.gate.With(paywall.Route{Resource: "https://api.example.com/other"})
		paid := c.pay(w, w.gate)
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
		require.Equal(t, 500, w.ask(c.header, paid).Code)
		requireRefusal(t, w.through(other, c.header, paid), 402, "credential_for_another_payment")
		require.EqualValues(t, 1, w.served.Load())
	}
}

func TestUnfulfilledPaymentIsNotVerifiedAgain(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	paid := w.payX402(w.gate, nil)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	require.Equal(t, 500, w.ask("PAYMENT-SIGNATURE", paid).Code)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "sunny") }
	// The payer has spent his money, with us: a verification would refuse him now.
	w.service.verdict = `{"isValid":false,"invalidReason":"insufficient_funds"}`
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", paid).Code)
	requireRefusal(t, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, nil)), 402, "insufficient_funds")
	require.Equal(t, 1, w.service.moved())
}

func TestPaymentIdentifierCoversPaymentsSignedAnew(t *testing.T) {
	t.Parallel()
	const id = "pay_7d5d747be160e280504c099d984bcfe0"
	w := setup(t, nil)
	sign := func() string { return w.payX402(w.gate, identifier(id)) }

	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	require.Equal(t, 500, w.ask("PAYMENT-SIGNATURE", sign()).Code)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "sunny") }
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", sign()).Code, "unfulfilled: served without a second transfer")
	require.Equal(t, 1, w.service.moved())
	rec := w.ask("PAYMENT-SIGNATURE", sign())
	require.Equal(t, 409, rec.Code)
	require.Equal(t, "already_redeemed", body(t, rec)["code"])
	dear := w.gate.With(paywall.Route{Price: "0.02", Resource: resource})
	require.Equal(t, 409, w.through(dear, "PAYMENT-SIGNATURE", w.payX402(dear, identifier(id))).Code)
	require.Equal(t, 1, w.service.moved())
}

func TestPaymentSignedAnewWaitsForTheUndecidedOne(t *testing.T) {
	t.Parallel()
	const id = "pay_7d5d747be160e280504c099d984bcfe0"
	w := setup(t, nil)
	first, second := w.payX402(w.gate, identifier(id)), w.payX402(w.gate, identifier(id))
	w.service.bend(func(rw http.ResponseWriter, _ *http.Request, settle func()) bool {
		settle()
		rw.WriteHeader(502)
		return true
	})
	require.Equal(t, 502, w.ask("PAYMENT-SIGNATURE", first).Code)
	w.service.bend(nil)
	rec := w.ask("PAYMENT-SIGNATURE", second)
	require.Equal(t, 409, rec.Code, "settling it could pay twice")
	require.Equal(t, "settlement_pending", body(t, rec)["code"])
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", first).Code)
	require.Equal(t, 1, w.service.moved())
}

// broken is a store that fails at one step.
type broken struct {
	paywall.Redemptions
	claim, settled, finish error
}

func (b broken) Claim(ctx context.Context, c paywall.Claim) (paywall.Claimed, error) {
	if b.claim != nil {
		return paywall.Claimed{}, b.claim
	}
	return b.Redemptions.Claim(ctx, c)
}

func (b broken) Settled(ctx context.Context, key string, p paywall.Payment) error {
	return errors.Join(b.settled, b.Redemptions.Settled(ctx, key, p))
}

func (b broken) Finish(ctx context.Context, key string, end paywall.End) error {
	return errors.Join(b.finish, b.Redemptions.Finish(ctx, key, end))
}

func TestStoreThatCannotClaimSettlesNothing(t *testing.T) {
	t.Parallel()
	store := broken{Redemptions: paywall.NewMemory(paywall.MemoryConfig{}), claim: errors.New("database at 10.0.0.7 is down")}
	each(t, func(c *paywall.Config) { c.Redemptions = store }, func(t *testing.T, w *world, c credential) {
		rec := w.ask(c.header, c.pay(w, w.gate))
		require.Equal(t, 503, rec.Code)
		require.NotEmpty(t, rec.Result().Header.Get("Retry-After"))
		require.NotContains(t, rec.Body.String(), "10.0.0.7")
		require.Zero(t, w.service.moved())
		require.Zero(t, w.served.Load())
	})
}

func TestStoreThatFailsAfterTheMoneyMovedStillServes(t *testing.T) {
	t.Parallel()
	boom := errors.New("down")
	store := broken{Redemptions: paywall.NewMemory(paywall.MemoryConfig{}), settled: boom, finish: boom}
	w := setup(t, func(c *paywall.Config) { c.Redemptions = store })
	require.Equal(t, 200, w.ask("X-PAYMENT", w.payX402V1(w.gate, nil)).Code)
}

func TestFullMemoryRefusesRatherThanForgets(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) {
		c.Redemptions = paywall.NewMemory(paywall.MemoryConfig{Max: 3, Clock: c.Clock})
	})
	var spent []string
	for range 3 {
		paid := w.payX402V1(w.gate, nil)
		require.Equal(t, 200, w.ask("X-PAYMENT", paid).Code)
		spent = append(spent, paid)
	}
	require.Equal(t, 503, w.ask("X-PAYMENT", w.payX402V1(w.gate, nil)).Code)
	require.Equal(t, 402, w.ask("X-PAYMENT", spent[0]).Code)
	w.clock.Advance(5 * time.Minute)
	require.Equal(t, 200, w.ask("X-PAYMENT", w.payX402V1(w.gate, nil)).Code)
}

func TestManyCredentialsAtOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	h := w.protected(w.gate)
	const n = 50
	paid := make([]string, n)
	for i := range paid {
		paid[i] = w.payX402V1(w.gate, nil)
	}
	var group sync.WaitGroup
	for i := range 3 * n {
		group.Go(func() {
			h.ServeHTTP(httptest.NewRecorder(), request(http.MethodGet, "X-PAYMENT", paid[i%n]))
		})
	}
	group.Wait()
	require.Equal(t, n, w.service.moved())
	require.EqualValues(t, n, w.served.Load())
}

func TestInProcessSettlement(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.Settler = embedded{} })
	require.Equal(t, 200, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code)
	require.Equal(t, "card", w.seen.Network)
	require.Equal(t, 200, w.ask("X-PAYMENT", w.payX402V1(w.gate, nil)).Code)
	require.Zero(t, w.service.count("/v1/x402/settle")+w.service.count("/v1/paywall/settle"))
}

type embedded struct{}

func (embedded) SettleMandate(context.Context, mandateParams) (paywall.MandateSettlement, error) {
	return paywall.MandateSettlement{PaywallSettlement: client.PaywallSettlement{Success: true, Transaction: "pp_1", Network: "card", TransactionID: "txn_1"}}, nil
}

func (embedded) SettleTransfer(context.Context, x402.FacilitatorRequest) (x402.Settlement, error) {
	return x402.Settlement{Success: true, Transaction: transaction(1), Network: "base-sepolia"}, nil
}
