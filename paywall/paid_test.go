package paywall_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

func sunny(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "sunny") }

// unclear are verifications that decide nothing.
func unclear() map[string]func(http.ResponseWriter, *http.Request) {
	return map[string]func(http.ResponseWriter, *http.Request){
		"500":      func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) },
		"404":      func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(404) },
		"cut":      func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"nonsense": func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `{"isValid":"perhaps"}`) },
		"unexpected error": func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(rw, `{"isValid":false,"invalidReason":"unexpected_verify_error"}`)
		},
	}
}

func TestVerifyThatDecidesNothingHoldsNothing(t *testing.T) {
	t.Parallel()
	for name, answer := range unclear() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const id = "pay_7d5d747be160e280504c099d984bcfe0"
			w := setup(t, func(c *paywall.Config) {
				c.Redemptions = paywall.NewMemory(paywall.MemoryConfig{Max: 5, Clock: c.Clock})
			})
			w.service.verifies(answer)
			var last string
			for range 50 {
				last = w.payX402(w.gate, func(p *x402.Payload) {
					identifier(id)(p)
					p.Payload.Authorization.ValidBefore = "99999999999"
				})
				require.Equal(t, 502, w.ask("PAYMENT-SIGNATURE", last).Code)
			}
			require.Equal(t, 200, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code, "the gate is not shut")
			require.Zero(t, w.service.count("/v1/x402/settle"))
			w.service.verifies(nil)
			require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, identifier(id))).Code, "nor is the identifier locked")
			w.clock.Advance(time.Second)
			require.Equal(t, 409, w.ask("PAYMENT-SIGNATURE", last).Code, "which is spent now")
		})
	}
}

func TestVerifyThatFailedCanBeTriedAgainAtOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	paid := w.payX402(w.gate, nil)
	w.service.verifies(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) })
	rec := w.ask("PAYMENT-SIGNATURE", paid)
	require.Equal(t, 502, rec.Code)
	require.NotEmpty(t, rec.Header().Get("Retry-After"))
	w.service.verifies(nil)
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", paid).Code)
	require.Equal(t, 1, w.service.moved())
}

func TestForgedPaymentLocksNoIdentifierOfAnother(t *testing.T) {
	t.Parallel()
	const id = "pay_7d5d747be160e280504c099d984bcfe0"
	w := setup(t, nil)
	forged := w.payX402(w.gate, func(p *x402.Payload) {
		identifier(id)(p)
		p.Payload.Signature = "0xbad0"
	})
	requireRefusal(t, w.ask("PAYMENT-SIGNATURE", forged), 402, string(x402.ReasonSignature))
	w.service.verifies(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) })
	require.Equal(t, 502, w.ask("PAYMENT-SIGNATURE", forged).Code)
	w.service.verifies(nil)
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, identifier(id))).Code)
}

func TestPaymentThatIsBeingVerifiedLocksNothing(t *testing.T) {
	t.Parallel()
	const id = "pay_7d5d747be160e280504c099d984bcfe0"
	w := setup(t, nil)
	slow := w.payX402(w.gate, identifier(id))
	own := w.payX402(w.gate, identifier(id))
	inside, release := make(chan struct{}), make(chan struct{})
	w.service.verifies(func(rw http.ResponseWriter, _ *http.Request) {
		close(inside)
		<-release
		_, _ = io.WriteString(rw, `{"isValid":false,"invalidReason":"invalid_exact_evm_payload_signature"}`)
	})
	refused := make(chan int)
	go func() { refused <- w.ask("PAYMENT-SIGNATURE", slow).Code }()
	<-inside
	w.service.verifies(nil)
	code := w.ask("PAYMENT-SIGNATURE", own).Code
	close(release)
	require.Equal(t, 402, <-refused)
	require.Equal(t, 200, code)
}

func TestFullMemoryForgetsUnpaidClaimsFirst(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) {
		c.Redemptions = paywall.NewMemory(paywall.MemoryConfig{Max: 4, Clock: c.Clock})
	})
	unserved := w.payX402V1(w.gate, nil)
	w.service.bend(func(rw http.ResponseWriter, _ *http.Request, settle func()) bool {
		settle()
		rw.WriteHeader(502)
		return true
	})
	require.Equal(t, 502, w.ask("X-PAYMENT", unserved).Code, "undecided at first")
	w.service.bend(nil)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	require.Equal(t, 500, w.ask("X-PAYMENT", unserved).Code)
	w.handler = sunny
	w.service.bend(func(rw http.ResponseWriter, r *http.Request, _ func()) bool {
		if r.URL.Path == "/v1/x402/settle" {
			rw.WriteHeader(502)
			return true
		}
		return false
	})
	for range 50 {
		require.Equal(t, 502, w.ask("X-PAYMENT", w.payX402V1(w.gate, nil)).Code)
		require.Equal(t, 502, w.ask("Authorization", w.payMPP(w.gate, nil)).Code)
	}
	for range 3 {
		require.Equal(t, 200, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code)
	}
	require.Equal(t, 200, w.ask("X-PAYMENT", unserved).Code, "what was paid is not forgotten for what was not")
	require.Equal(t, 503, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code, "four paid ones fill it")
}

func TestRunningRequestsDoNotFillTheMemory(t *testing.T) {
	t.Parallel()
	store := paywall.NewMemory(paywall.MemoryConfig{Max: 2, Clock: newClock().Now})
	for i := range 20 {
		got, err := store.Claim(t.Context(), paywall.Claim{Key: fmt.Sprint(i), Binding: "x", Until: newClock().Now().Add(time.Hour)})
		require.NoError(t, err)
		require.Equal(t, paywall.ClaimFresh, got.State)
	}
}

func TestPaidCredentialIsHonoredForADay(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		paid, late := c.pay(w, w.gate), c.pay(w, w.gate)
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(503) }
		for _, credential := range []string{paid, late} {
			require.Equal(t, 503, w.ask(c.header, credential).Code)
		}
		verified := w.service.count("/v1/x402/verify")
		w.clock.Advance(paywall.HonoredFor - time.Second)
		require.Equal(t, 503, w.ask(c.header, paid).Code, "and not for the first try alone")
		w.handler = sunny
		rec := w.ask(c.header, paid)
		require.Equal(t, 200, rec.Code, rec.Body.String())
		require.NotEmpty(t, rec.Header().Get(c.told))
		require.Equal(t, 2, w.service.moved())
		require.Equal(t, verified, w.service.count("/v1/x402/verify"))
		require.Equal(t, 402, w.ask(c.header, paid).Code, "once")
		w.clock.Advance(2 * time.Second)
		require.Equal(t, 402, w.ask(c.header, late).Code, "a day is over")
		require.Equal(t, 2, w.service.moved())
	})
}

func TestPaidRequestOfAnExpiredMandateIsHonored(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	token := w.service.mandate(nil).Reveal()
	w.clock.Advance(30*24*time.Hour - 2*time.Hour)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(404) }
	require.Equal(t, 404, w.ask("X-Service-Mandate", token, "Idempotency-Key", "1").Code)
	w.clock.Advance(3 * time.Hour)
	w.handler = sunny
	requireRefusal(t, w.ask("X-Service-Mandate", token, "Idempotency-Key", "2"), 402, "mandate_expired")
	require.Equal(t, 200, w.ask("X-Service-Mandate", token, "Idempotency-Key", "1").Code)
	require.Equal(t, 1, w.service.moved())
}

func TestLostSettlementIsFoundAfterItsWindow(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		paid := c.pay(w, w.gate)
		w.service.bend(func(rw http.ResponseWriter, _ *http.Request, settle func()) bool {
			settle()
			rw.WriteHeader(502)
			return true
		})
		require.Equal(t, 502, w.ask(c.header, paid).Code)
		w.service.bend(nil)
		w.clock.Advance(time.Hour)
		require.Equal(t, 200, w.ask(c.header, paid).Code, "the money is gone: no other payment may be asked for")
		require.Equal(t, 1, w.service.moved())
	})
}

// late is a store before which a request waits.
type late struct {
	paywall.Redemptions
	wait func()
}

func (l late) Claim(ctx context.Context, c paywall.Claim) (paywall.Claimed, error) {
	l.wait()
	return l.Redemptions.Claim(ctx, c)
}

// A request that began within the window of its credential and is claimed after it
// finds what the credential was redeemed for.
func TestCredentialIsRememberedBeyondTheEndOfItsWindow(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"x402 v1", "mpp"} {
		store := late{wait: func() {}}
		w := setup(t, func(c *paywall.Config) {
			store.Redemptions = paywall.NewMemory(paywall.MemoryConfig{Clock: c.Clock})
			c.Redemptions = &store
		})
		c := credentials()[name]
		paid := c.pay(w, w.gate)
		require.Equal(t, 200, w.ask(c.header, paid).Code)
		w.clock.Advance(59 * time.Second)
		store.wait = func() { w.clock.Advance(time.Minute) }
		requireRefusal(t, w.ask(c.header, paid), 402, "already_redeemed")
		require.Equal(t, 1, w.service.count(c.path), "by the gate's own memory")
	}
}

func TestHEADIsNotServed(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		paid := c.pay(w, w.gate)
		require.Equal(t, 200, w.send(w.gate, request(http.MethodHead, c.header, paid)).Code)
		require.Equal(t, 200, w.ask(c.header, paid).Code, "the content was not sent yet")
		require.Equal(t, 402, w.ask(c.header, paid).Code)
		require.Equal(t, 1, w.service.moved())
	})
}

func TestServedIsTheMerchantsToDefine(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) {
		c.Served = func(status int) bool { return status == 200 || status == 404 || status == 304 }
	})
	for status, again := range map[int]int{404: 402, 304: 402, 202: 202, 500: 500} {
		paid := w.payX402V1(w.gate, nil)
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(status) }
		require.Equal(t, status, w.ask("X-PAYMENT", paid).Code)
		require.Equal(t, again, w.ask("X-PAYMENT", paid).Code, status)
	}
	paid := w.payX402V1(w.gate, nil)
	w.handler = sunny
	require.Equal(t, 200, w.send(w.gate, request(http.MethodHead, "X-PAYMENT", paid)).Code)
	require.Equal(t, 402, w.ask("X-PAYMENT", paid).Code, "HEAD too")
}

func TestDeclineOutsideOfAGateDoesNothing(t *testing.T) {
	t.Parallel()
	paywall.Decline(t.Context())
	require.Empty(t, paywall.RequestIDFrom(t.Context()))
}
