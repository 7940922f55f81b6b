package paywall_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/mpp"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

// The tests of this file are named after bugs that payment gates have had.

func TestHandlerRunsOrBodyIsSentBeforeSettlement(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
			require.Zero(t, w.served.Load(), "the handler ran before the money moved")
			return false
		})
		moved := 0
		w.handler = func(rw http.ResponseWriter, _ *http.Request) {
			moved = w.service.moved()
			_, _ = io.WriteString(rw, "sunny")
		}
		require.Equal(t, 200, w.ask(c.header, c.pay(w, w.gate)).Code)
		require.Equal(t, 1, moved, "when the handler ran")
	})
}

func TestSettlementFailsAfterSideEffects(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
			_, _ = fmt.Fprintf(rw, `{"success":false,"errorReason":"insufficient_funds","transaction":"","network":"base-sepolia"}`)
			return true
		})
		rec := w.ask(c.header, c.pay(w, w.gate))
		requireRefusal(t, rec, 402, "insufficient_funds")
		require.Zero(t, w.served.Load(), "a refused payment must have no effect")
	})
}

func TestCheckThenPutReplayStoreTwoConcurrentRedemptions(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		const n = 100
		paid := c.pay(w, w.gate)
		h := w.protected(w.gate)
		codes := make(chan int, n)
		start := make(chan struct{})
		var group sync.WaitGroup
		for range n {
			group.Go(func() {
				<-start
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, request(http.MethodGet, c.header, paid))
				codes <- rec.Code
			})
		}
		close(start)
		group.Wait()
		close(codes)
		count := map[int]int{}
		for code := range codes {
			count[code]++
		}
		require.Equal(t, 1, count[200], count)
		require.Equal(t, n-1, count[409]+count[402], count)
		require.Equal(t, 1, w.service.moved())
		require.Equal(t, 1, w.service.count(c.path))
		require.EqualValues(t, 1, w.served.Load())
	})
}

func TestConcurrentDuplicatesGet409WithRetryAfter(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		paid := c.pay(w, w.gate)
		inside, release := make(chan struct{}), make(chan struct{})
		w.handler = func(rw http.ResponseWriter, _ *http.Request) {
			close(inside)
			<-release
			_, _ = io.WriteString(rw, "sunny")
		}
		h := w.protected(w.gate)
		first := httptest.NewRecorder()
		var group sync.WaitGroup
		group.Go(func() { h.ServeHTTP(first, request(http.MethodGet, c.header, paid)) })
		<-inside
		second := httptest.NewRecorder()
		h.ServeHTTP(second, request(http.MethodGet, c.header, paid))
		close(release)
		group.Wait()
		require.Equal(t, 200, first.Code)
		require.Equal(t, 409, second.Code)
		require.Equal(t, "1", second.Result().Header.Get("Retry-After"))
		require.Equal(t, "credential_in_use", body(t, second)["code"])
		require.Empty(t, second.Result().Header.Get("PAYMENT-REQUIRED"), "no new price while the old one is paid")
	})
}

func TestCredentialForACheapRouteUsedOnADearOne(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		dear := w.gate.With(paywall.Route{Price: "0.05", Resource: "https://api.example.com/dear"})
		rec := w.through(dear, c.header, c.pay(w, w.gate))
		require.Equal(t, 402, rec.Code)
		require.Zero(t, w.served.Load())
		require.Zero(t, w.service.moved())
	})
}

func TestCredentialReplayedUntilItsTTLEnds(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		paid := c.pay(w, w.gate)
		require.Equal(t, 200, w.ask(c.header, paid).Code)
		for range 5 {
			requireRefusal(t, w.ask(c.header, paid), 402, "already_redeemed")
			w.clock.Advance(10 * time.Second)
		}
		for range 60 {
			w.clock.Advance(20 * time.Second)
			require.Equal(t, 402, w.ask(c.header, paid).Code)
		}
		require.EqualValues(t, 1, w.served.Load())
		require.Equal(t, 1, w.service.moved())
	})
}

func TestOneTransferUnderTwoProtocolsIsServedOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	var signed x402.Exact
	two := w.payX402(w.gate, func(p *x402.Payload) { signed = p.Payload })
	one := w.payX402V1(w.gate, func(p *x402.PayloadV1) { p.Payload = signed })
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", two).Code)
	requireRefusal(t, w.ask("X-PAYMENT", one), 402, "credential_for_another_payment")
	require.EqualValues(t, 1, w.served.Load())
}

// A receipt is no credential, and neither is the payment behind it at another
// address: settled and not served, as it is when most can be gained from it.
func TestReceiptOfOneResourceOpensAnother(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		const elsewhere = "https://api.example.com/other"
		other := w.gate.With(paywall.Route{Resource: elsewhere})
		paid := c.pay(w, w.gate)
		w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
		rec := w.ask(c.header, paid)
		require.Equal(t, 500, rec.Code)
		receipt := rec.Result().Header.Get(c.told)
		require.NotEmpty(t, receipt)
		w.handler = sunny
		before := w.served.Load()
		for _, header := range []string{c.told, "PAYMENT-SIGNATURE", "X-PAYMENT", "X-Service-Mandate", "Authorization"} {
			value := receipt
			if header == "Authorization" {
				value = "Payment " + receipt
			}
			for _, g := range []*paywall.Gate{w.gate, other} {
				require.Contains(t, []int{400, 402}, w.through(g, header, value).Code, header)
			}
		}
		for _, claimed := range []string{paid, w.claimedFor(c, paid, other, elsewhere)} {
			rec = w.through(other, c.header, claimed)
			require.Contains(t, []int{402, 409}, rec.Code, rec.Body.String())
		}
		require.Equal(t, before, w.served.Load())
		require.Equal(t, 1, w.service.moved())
		require.Equal(t, 200, w.ask(c.header, paid).Code, "it opens what it was paid for")
	})
}

// claimedFor rewrites a payment so that it names another resource, as far as its
// payer could.
func (w *world) claimedFor(c credential, paid string, other *paywall.Gate, elsewhere string) string {
	w.t.Helper()
	switch c.header {
	case "PAYMENT-SIGNATURE":
		p, err := x402.DecodePayload(paid)
		require.NoError(w.t, err)
		p.Resource.URL = elsewhere
		return encode(w.t, p)
	case "Authorization":
		old, err := mpp.ParseCredential(paid)
		require.NoError(w.t, err)
		old.Challenge = challengeOf(w.t, w.through(other))
		header, err := old.Header()
		require.NoError(w.t, err)
		return header
	case "X-Service-Mandate":
		return w.service.present(w.service.mandate(nil), w.service.mandates[0].ChallengeID, func(b *mandate.Binding) { b.Transaction.Resource = elsewhere })
	}
	return paid // version 1 names no resource
}

func TestTwoAuthorizationPaymentValues(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	a, b := w.payMPP(w.gate, nil), w.payMPP(w.gate, nil)
	for name, headers := range map[string][]string{
		"two headers":     {"Authorization", a, "Authorization", b},
		"the same twice":  {"Authorization", a, "Authorization", a},
		"one value":       {"Authorization", a + ", " + b},
		"one aside":       {"Authorization", a, "Payment-Authorization", b},
		"one is garbage":  {"Authorization", a, "Authorization", "Payment x"},
		"two protocols":   {"Authorization", a, "X-PAYMENT", w.payX402V1(w.gate, nil)},
		"x402 twice":      {"X-PAYMENT", w.payX402V1(w.gate, nil), "X-PAYMENT", w.payX402V1(w.gate, nil)},
		"both versions":   {"PAYMENT-SIGNATURE", w.payX402(w.gate, nil), "X-PAYMENT", w.payX402V1(w.gate, nil)},
		"mandate, bundle": {"X-Service-Mandate", w.service.mandate(nil).Reveal(), "X-Bundle-Token", "t"},
	} {
		rec := w.ask(headers...)
		requireRefusal(t, rec, 400, "multiple_credentials")
		_ = name
	}
	require.Zero(t, w.served.Load())
	require.Zero(t, w.service.moved())
}

func TestKeyPerChallengeLockOutByAnotherPayer(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	c := challengeOf(t, w.ask())
	thief := w.credential(c, "0x1111111111111111111111111111111111111111", nil)
	bad := w.credential(c, payer, func(_ *mpp.Challenge, p *mpp.AuthorizationPayload) { p.Signature = "0xbad0" })
	requireRefusal(t, w.ask("Authorization", bad), 402, string(x402.ReasonSignature))
	require.Equal(t, 200, w.ask("Authorization", thief).Code, "somebody else may pay the challenge, with his own money")
	require.Equal(t, 200, w.ask("Authorization", w.credential(c, payer, nil)).Code, "and its owner still can")
	require.Equal(t, 2, w.service.moved())
	require.EqualValues(t, 2, w.served.Load())
}

func TestFacilitatorOutageLetsRequestsThrough(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		paid := c.pay(w, w.gate)
		for _, status := range []int{500, 502, 503, 504, 429, 404, 301, 204} {
			w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
				rw.Header().Set("Retry-After", "9")
				rw.WriteHeader(status)
				return true
			})
			rec := w.ask(c.header, paid)
			require.Equal(t, http.StatusBadGateway, rec.Code, status)
			require.Equal(t, "9", rec.Result().Header.Get("Retry-After"))
			require.Empty(t, rec.Result().Header.Get("WWW-Authenticate"), "an outage is no reason to pay anew")
		}
		require.Zero(t, w.served.Load())
		w.service.bend(nil)
		require.Equal(t, 200, w.ask(c.header, paid).Code, "the same credential works when it is back")
		require.Equal(t, 1, w.service.moved())
	})
}

func TestRetryAfterALostAnswerPaysTwice(t *testing.T) {
	t.Parallel()
	for lost, lose := range map[string]func(rw http.ResponseWriter, r *http.Request){
		"timeout": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"502":     func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(502) },
		"cut":     func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"nothing": func(rw http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(rw, `{"success":true,"transaction":"","network":"eip155:84532"}`)
		},
		"second 402": func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(402) },
	} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			change := func(*paywall.Config) {}
			if lost == "timeout" {
				change = func(c *paywall.Config) { c.CallTimeout = shortTimeout }
			}
			each(t, change, func(t *testing.T, w *world, c credential) {
				paid := c.pay(w, w.gate)
				w.service.bend(func(rw http.ResponseWriter, r *http.Request, settle func()) bool {
					settle()
					lose(rw, r)
					return true
				})
				rec := w.ask(c.header, paid)
				require.Contains(t, []int{502, 504}, rec.Code)
				require.NotEmpty(t, rec.Result().Header.Get("Retry-After"))
				require.Zero(t, w.served.Load())
				w.service.bend(nil)
				require.Equal(t, 200, w.ask(c.header, paid).Code, "found, and served")
				require.Equal(t, 1, w.service.moved())
				require.EqualValues(t, 1, w.served.Load())
			})
		})
	}
}

func TestSignatureCheckedOverReEncodedJSON(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	raw := `{ "x402Version" : 2 , "accepted" : ACCEPTED , "payload" : PAYLOAD , "unknown" : 1.0e0 }`
	asked, err := x402.DecodePaymentRequired(w.ask().Header().Get("PAYMENT-REQUIRED"))
	require.NoError(t, err)
	raw = strings.Replace(raw, "ACCEPTED", marshal(t, asked.Accepts[0]), 1)
	raw = strings.Replace(raw, "PAYLOAD", marshal(t, w.transfer("10000")), 1)
	require.Equal(t, 200, w.ask("PAYMENT-SIGNATURE", base64Text(raw)).Code)
	require.Contains(t, w.service.requests[0], `"unknown" : 1.0e0`, "the payload goes on as it came")
}

func TestMandateTokenInURLs(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	token := w.service.mandate(nil).Reveal()
	var seen []string
	w.service.bend(func(_ http.ResponseWriter, r *http.Request, _ func()) bool {
		seen = append(seen, r.URL.String(), r.Referer(), r.UserAgent())
		return false
	})
	require.Equal(t, 200, w.ask("X-Service-Mandate", token).Code)
	require.NotEmpty(t, seen)
	require.NotContains(t, strings.Join(seen, " "), token[10:40])
}

// settler fails as configured.
type settler struct {
	paywall.Settler
	err error
}

func (s settler) SettleMandate(context.Context, mandateParams) (paywall.MandateSettlement, error) {
	return paywall.MandateSettlement{}, s.err
}

func (s settler) SettleTransfer(context.Context, x402.FacilitatorRequest) (x402.Settlement, error) {
	return x402.Settlement{}, s.err
}
