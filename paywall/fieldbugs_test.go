package paywall_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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

func TestReceiptOfOneResourceOpensAnother(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		rec := w.ask(c.header, c.pay(w, w.gate))
		receipt := rec.Result().Header.Get(c.told)
		require.NotEmpty(t, receipt)
		other := w.gate.With(paywall.Route{Resource: "https://api.example.com/other"})
		for _, header := range []string{c.told, "PAYMENT-SIGNATURE", "X-PAYMENT", "X-Service-Mandate", "Authorization"} {
			value := receipt
			if header == "Authorization" {
				value = "Payment " + receipt
			}
			for _, g := range []*paywall.Gate{w.gate, other} {
				require.Contains(t, []int{400, 402}, w.through(g, header, value).Code, header)
			}
		}
		require.EqualValues(t, 1, w.served.Load())
	})
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

func TestCRLFAndQuotesInChallengeParameters(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for _, bad := range []string{"a\r\nSet-Cookie: x=1", "a\nb", "a\x00b"} {
		cfg := w.config()
		cfg.Discovery = discovery()
		cfg.Discovery.Description = bad
		_, err := paywall.New(cfg)
		require.ErrorContains(t, err, "Discovery.Description", bad)
	}
	g := w.newGate(func(c *paywall.Config) {
		c.Discovery = discovery()
		c.Discovery.Description = `say "hi", \o/ Payment id="x"`
	})
	require.Equal(t, `say "hi", \o/ Payment id="x"`, challengeOf(t, w.through(g)).Description)
}

func TestUnknownErrorAnsweredAs402WithItsText(t *testing.T) {
	t.Parallel()
	boom := errors.New("dial tcp 10.0.0.7: password=hunter2")
	w := setup(t, func(c *paywall.Config) { c.Settler = settler{err: boom} })
	for name, c := range credentials() {
		if name == "x402 v2" {
			continue // by the external facilitator
		}
		rec := w.ask(c.header, c.pay(w, w.gate))
		require.Equal(t, http.StatusBadGateway, rec.Code, name)
		require.NotContains(t, rec.Body.String(), "hunter2", name)
	}
	g := w.newGate(func(c *paywall.Config) {
		c.PriceFunc = func(*http.Request) (string, error) { return "", boom }
	})
	rec := w.through(g)
	require.Equal(t, http.StatusInternalServerError, rec.Code)
	require.NotContains(t, rec.Body.String(), "hunter2")
	require.Zero(t, w.served.Load())
}

func TestBodyReadWithoutLimit(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	r := request(http.MethodPost, "PAYMENT-SIGNATURE", "garbage")
	r.Body = io.NopCloser(readerFunc(func([]byte) (int, error) { t.Fatal("the gate read the body"); return 0, io.EOF }))
	require.Equal(t, 400, w.send(w.gate, r).Code)

	// Nor an answer of the service.
	w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
		chunk := []byte(strings.Repeat(" ", 64<<10))
		for range 64 {
			if _, err := rw.Write(chunk); err != nil {
				return true
			}
		}
		return true
	})
	require.Equal(t, 502, w.ask("X-PAYMENT", w.payX402V1(w.gate, nil)).Code)
	require.Equal(t, 502, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code)
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestHeadersOfAFailedHandlerLeakIntoThe402(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		fail := true
		w.handler = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("X-Secret", "of the handler")
			rw.Header().Set("Set-Cookie", "a=b")
			if fail {
				rw.Header().Set("Retry-After", "99")
				http.Error(rw, "broken", http.StatusInternalServerError)
				return
			}
			_, _ = io.WriteString(rw, "sunny")
		}
		paid := c.pay(w, w.gate)
		require.Equal(t, 500, w.ask(c.header, paid).Code)
		fail = false
		require.Equal(t, 200, w.ask(c.header, paid).Code)
		rec := w.ask(c.header, paid)
		require.Equal(t, 402, rec.Code)
		require.Empty(t, rec.Result().Header.Get("X-Secret"))
		require.Empty(t, rec.Result().Header.Get("Set-Cookie"))
		require.Empty(t, rec.Result().Header.Get("Retry-After"))
	})
}

func TestResponseWriterWrapperThatBreaksFlushSSEHijack(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	step := make(chan struct{})
	mux := http.NewServeMux()
	mux.Handle("/stream", w.gate.Require(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		rw.Header().Set("Trailer", "X-Sum")
		rc := http.NewResponseController(rw)
		_, _ = io.WriteString(rw, "data: one\n\n")
		if rc.Flush() != nil || rc.SetWriteDeadline(time.Now().Add(time.Minute)) != nil || rc.EnableFullDuplex() != nil {
			panic("the controller does not work")
		}
		<-step
		_, _ = io.WriteString(rw, "data: two\n\n")
		rw.(http.Flusher).Flush()
		rw.Header().Set("X-Sum", "2")
	})))
	mux.Handle("/hijack", w.gate.Require(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := rw.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nUpgrade: test\r\nConnection: Upgrade\r\n\r\nhello\n")
		_ = buffered.Flush()
		_ = conn.Close()
	})))
	mux.Handle("/file", w.gate.Require(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if _, ok := rw.(io.ReaderFrom); !ok {
			panic("no sendfile")
		}
		_, _ = io.Copy(rw, strings.NewReader("contents"))
	})))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	get := func(path string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, http.NoBody)
		require.NoError(t, err)
		req.Header.Set("X-PAYMENT", w.payX402V1(w.gate, nil))
		resp, err := srv.Client().Do(req)
		require.NoError(t, err)
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	stream := get("/stream")
	require.Equal(t, 200, stream.StatusCode)
	lines := bufio.NewReader(stream.Body)
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "data: one\n", line, "the first event arrives before the second is written")
	close(step)
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, "\ndata: two\n\n", string(rest))
	require.Equal(t, "2", stream.Trailer.Get("X-Sum"))

	upgraded := get("/hijack")
	require.Equal(t, http.StatusSwitchingProtocols, upgraded.StatusCode)
	contents, err := io.ReadAll(get("/file").Body)
	require.NoError(t, err)
	require.Equal(t, "contents", string(contents))
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
				change = func(c *paywall.Config) { c.Timeout = shortTimeout }
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

func TestRetryAfterOfA503LeftOnA500(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	c := credentials()["x402 v1"]
	paid := c.pay(w, w.gate)
	w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
		rw.Header().Set("Retry-After", "77")
		rw.WriteHeader(503)
		return true
	})
	require.Equal(t, "77", w.ask(c.header, paid).Result().Header.Get("Retry-After"))
	w.service.bend(nil)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
	rec := w.ask(c.header, paid)
	require.Equal(t, 500, rec.Code)
	require.Empty(t, rec.Result().Header.Get("Retry-After"))
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

func TestPaidAnswersAreNeverKeptForOthers(t *testing.T) {
	t.Parallel()
	each(t, nil, func(t *testing.T, w *world, c credential) {
		for said, want := range map[string]string{
			"":                                  "private",
			"public, max-age=3600":              "private, max-age=3600",
			"max-age=60, s-maxage=600":          "private, max-age=60",
			"no-store":                          "private, no-store",
			"Private, must-revalidate":          "private, must-revalidate",
			"PUBLIC, proxy-revalidate, max-age": "private, max-age",
		} {
			for _, write := range []func(http.ResponseWriter){
				func(rw http.ResponseWriter) { _, _ = io.WriteString(rw, "x") },
				func(rw http.ResponseWriter) { rw.WriteHeader(204) },
				func(rw http.ResponseWriter) { rw.(http.Flusher).Flush() },
				func(http.ResponseWriter) {},
			} {
				w.handler = func(rw http.ResponseWriter, _ *http.Request) {
					if said != "" {
						rw.Header().Set("Cache-Control", said)
					}
					rw.Header().Set("Vary", "Accept-Encoding")
					write(rw)
				}
				rec := w.ask(c.header, c.pay(w, w.gate))
				require.Equal(t, want, rec.Result().Header.Get("Cache-Control"), said)
				require.Contains(t, strings.Join(rec.Result().Header.Values("Vary"), ", "), "X-PAYMENT")
			}
		}
	})
}

// settler fails as it is told.
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
