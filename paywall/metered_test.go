package paywall_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

// hold answers a settlement that holds its price.
func (s *service) hold(n int) string {
	return fmt.Sprintf(`{"success":true,"transaction":"","network":"eip155:84532","payer":%q,"transactionId":"txn_%d","authorizedUntil":%q}`,
		payer, n, s.clock.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

// endPayment captures, voids or refunds: the first end counts.
func (s *service) endPayment(w http.ResponseWriter, r *http.Request) {
	var p client.CaptureParams
	_ = json.NewDecoder(r.Body).Decode(&p)
	kind := r.PathValue("end")
	s.once(w, r, kind+":"+r.PathValue("id")+p.IdempotencyKey, func(int) string {
		s.ends = append(s.ends, fmt.Sprintf("%s %s %d", kind, r.PathValue("id"), p.AmountMicros))
		s.usage = p.Usage
		switch kind {
		case "void":
			return fmt.Sprintf(`{"transactionId":%q,"status":"voided"}`, r.PathValue("id"))
		case "refunds":
			return fmt.Sprintf(`{"id":"rfd_1","transactionId":%q,"status":%q}`, r.PathValue("id"), s.refunds)
		}
		return fmt.Sprintf(`{"transactionId":%q,"status":"completed","txHash":%q}`, r.PathValue("id"), transaction(77))
	})
}

func (s *service) ended() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.ends...)
}

// metered returns a world whose gate is metered, at most 0.10, and the settlements that its
// hook heard of.
func metered(t *testing.T, change func(*paywall.Config)) (*world, func() []paywall.Payment) {
	t.Helper()
	var mu sync.Mutex
	var paid []paywall.Payment
	w := setup(t, func(c *paywall.Config) {
		c.Price, c.Metered, c.Merchant = "0.10", true, paywall.Merchant{ID: "mer_1", APIKey: "sk_test_1"}
		c.OnPaid = func(_ *http.Request, p paywall.Payment) {
			mu.Lock()
			defer mu.Unlock()
			paid = append(paid, p)
		}
		if change != nil {
			change(c)
		}
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), shortTimeout)
		defer cancel()
		_ = w.gate.Shutdown(ctx)
	})
	return w, func() []paywall.Payment {
		mu.Lock()
		defer mu.Unlock()
		return paid
	}
}

func receiptOf(t *testing.T, header string) x402.Settlement {
	t.Helper()
	require.NotEmpty(t, header)
	s, err := x402.DecodeSettlement(header)
	require.NoError(t, err)
	require.NotNil(t, s.Metered)
	return s
}

func TestMeteredRequestPaysWhatItUsed(t *testing.T) {
	t.Parallel()
	w, paid := metered(t, nil)
	w.handler = func(rw http.ResponseWriter, r *http.Request) {
		m := paywall.MeterFrom(r.Context())
		require.NoError(t, m.AddUnits("token", 400, 7))
		require.NoError(t, m.AddUnits("token", 100, 7))
		require.EqualValues(t, 3500, m.Used())
		require.EqualValues(t, 96_500, m.Left())
		_, _ = io.WriteString(rw, "sunny")
		require.Empty(t, w.service.ended(), "nothing is captured before the handler has returned")
	}
	rec := w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal())
	require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
	require.Equal(t, "sunny", rec.Body.String())
	require.Equal(t, "private", rec.Result().Header.Get("Cache-Control"))
	require.Equal(t, []string{"capture txn_1 3500"}, w.service.ended())
	require.Equal(t, &client.Usage{Unit: "token", Quantity: 500, UnitPriceMicros: 7}, w.service.usage)
	require.Equal(t, x402.Settlement{
		Success: true, Transaction: transaction(77), Network: "eip155:84532", Payer: payer, Metered: &x402.Metered{
			TransactionID: "txn_1", AuthorizedMicros: 100_000, MeteredMicros: 3500, CapturedMicros: 3500,
			Usage: &x402.Usage{Unit: "token", Quantity: 500, UnitPriceMicros: 7},
		},
	}, receiptOf(t, rec.Result().Header.Get("X-Payment-Response")))
	require.Len(t, paid(), 1)
	require.EqualValues(t, 3500, paid()[0].AmountMicros)
	require.EqualValues(t, 100_000, w.seen.AuthorizedMicros)
	require.Zero(t, w.seen.AmountMicros, "nothing is paid while the handler runs")
	sent := w.service.mandates[0]
	require.Equal(t, []any{"0.10", true, int64(3600)}, []any{sent.Price, sent.Metered, sent.ExpiresInSeconds})
}

func TestMeterStaysAtThePrice(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, nil)
	var outlived *paywall.Meter
	w.handler = func(_ http.ResponseWriter, r *http.Request) {
		m := paywall.MeterFrom(r.Context())
		outlived = m
		require.ErrorIs(t, m.Add(-1), paywall.ErrMeterAmount)
		require.ErrorIs(t, m.AddUnits("token", math.MaxInt64, 2), paywall.ErrMeterAmount)
		require.ErrorIs(t, m.AddUnits("a\nb", 1, 2), paywall.ErrMeterUnit)
		var group sync.WaitGroup
		for range 99 {
			group.Go(func() { _ = m.Add(1000) })
		}
		group.Wait()
		require.NoError(t, m.Add(500))
		require.ErrorIs(t, m.Add(501), paywall.ErrMeterFull)
		require.ErrorIs(t, m.Add(1), paywall.ErrMeterFull)
		require.NoError(t, m.Add(0))
		require.Zero(t, m.Left())
	}
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code)
	require.Equal(t, []string{"capture txn_1 100000"}, w.service.ended())
	require.ErrorIs(t, outlived.Add(0), paywall.ErrMeterEnded)
	require.Nil(t, w.service.usage, "amounts without a unit have no usage")
	var none *paywall.Meter
	require.NoError(t, none.Add(5))
	require.Zero(t, none.Used())
	require.Nil(t, paywall.MeterFrom(t.Context()))
}

// TestHeldPriceIsVoidedUnlessSomethingWasServed: and what was served to a client that left is
// captured.
func TestHeldPriceIsVoidedUnlessSomethingWasServed(t *testing.T) {
	t.Parallel()
	add := func(r *http.Request) { _ = paywall.MeterFrom(r.Context()).Add(3000) }
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		leave   bool // the client
		want    string
		status  int // 0: any
	}{
		"nothing metered": {func(http.ResponseWriter, *http.Request) {}, false, "void txn_1 0", 200},
		"no response":     {func(_ http.ResponseWriter, r *http.Request) { add(r) }, false, "capture txn_1 3000", 200},
		"error":           {func(rw http.ResponseWriter, r *http.Request) { add(r); rw.WriteHeader(500) }, false, "void txn_1 0", 500},
		"refused":         {func(rw http.ResponseWriter, r *http.Request) { add(r); rw.WriteHeader(404) }, false, "void txn_1 0", 404},
		"declined":        {func(_ http.ResponseWriter, r *http.Request) { add(r); paywall.Decline(r.Context()) }, false, "void txn_1 0", 200},
		"panic":           {func(_ http.ResponseWriter, r *http.Request) { add(r); panic(http.ErrAbortHandler) }, false, "void txn_1 0", 0},
		"panic before a flush": {func(rw http.ResponseWriter, r *http.Request) {
			add(r)
			_, _ = io.WriteString(rw, "a")
			panic(http.ErrAbortHandler)
		}, false, "void txn_1 0", 0},
		"panic in a stream": {func(rw http.ResponseWriter, r *http.Request) { add(r); flush(rw); panic(http.ErrAbortHandler) }, false, "capture txn_1 3000", 0},
		"client left":       {func(_ http.ResponseWriter, r *http.Request) { add(r); <-r.Context().Done() }, true, "capture txn_1 3000", 0},
		"client left, panic": {func(_ http.ResponseWriter, r *http.Request) {
			add(r)
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}, true, "capture txn_1 3000", 0},
		"client left, declined": {func(_ http.ResponseWriter, r *http.Request) {
			add(r)
			<-r.Context().Done()
			paywall.Decline(r.Context())
		}, true, "void txn_1 0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, paid := metered(t, nil)
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			w.handler = func(rw http.ResponseWriter, r *http.Request) {
				if tc.leave {
					leave()
				}
				tc.handler(rw, r)
			}
			token := w.service.mandate(nil).Reveal()
			r := request(http.MethodGet, "X-Service-Mandate", token, "Idempotency-Key", "one").WithContext(ctx)
			rec := httptest.NewRecorder()
			func() {
				defer func() { _ = recover() }()
				w.protected(w.gate).ServeHTTP(rec, r)
			}()
			require.Equal(t, []string{tc.want}, w.service.ended())
			captured := strings.HasPrefix(tc.want, "capture")
			require.Len(t, paid(), map[bool]int{true: 1}[captured])
			if tc.status != 0 {
				require.Equal(t, tc.status, rec.Code)
			}
			again := w.ask("X-Service-Mandate", token, "Idempotency-Key", "one")
			require.Equal(t, http.StatusPaymentRequired, again.Code, "a repeat is not served, and not charged")
			require.Equal(t, []string{tc.want}, w.service.ended())
			require.EqualValues(t, 1, w.served.Load())
		})
	}
}

// TestRequestThatATimeoutInFrontOfTheGateAnsweredIsFree: the client got 503.
func TestRequestThatATimeoutInFrontOfTheGateAnsweredIsFree(t *testing.T) {
	t.Parallel()
	for _, write := range []string{"", "too late", "before"} {
		w, paid := metered(t, nil)
		ended := make(chan struct{})
		w.handler = func(rw http.ResponseWriter, r *http.Request) {
			_ = paywall.MeterFrom(r.Context()).Add(3000)
			if write == "before" { // more than the gate delays
				_, _ = io.WriteString(rw, strings.Repeat("long", 50_000))
			}
			<-r.Context().Done()
			if write == "too late" {
				_, _ = io.WriteString(rw, write)
			}
		}
		inner := w.protected(w.gate)
		h := http.TimeoutHandler(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			defer close(ended)
			inner.ServeHTTP(rw, r)
		}), 300*time.Millisecond, "timeout")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, request(http.MethodGet, "X-Service-Mandate", w.service.mandate(nil).Reveal()))
		<-ended
		require.Equal(t, http.StatusServiceUnavailable, rec.Code)
		if w.served.Load() > 0 { // a slow machine may time out before
			require.Equal(t, []string{"void txn_1 0"}, w.service.ended())
		}
		require.Empty(t, paid())
	}
}

// TestCaptureEndsBeforeATimeoutInFrontOfTheGateAnswers: what is charged is also served.
func TestCaptureEndsBeforeATimeoutInFrontOfTheGateAnswers(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, nil)
	release := make(chan struct{})
	w.service.bend(func(_ http.ResponseWriter, r *http.Request, _ func()) bool {
		if strings.HasSuffix(r.URL.Path, "/capture") {
			<-release
		}
		return false
	})
	w.handler = func(rw http.ResponseWriter, r *http.Request) {
		_ = paywall.MeterFrom(r.Context()).Add(3000)
		_, _ = io.WriteString(rw, "sunny")
	}
	rec := httptest.NewRecorder()
	http.TimeoutHandler(w.protected(w.gate), 2*time.Second, "timeout").
		ServeHTTP(rec, request(http.MethodGet, "X-Service-Mandate", w.service.mandate(nil).Reveal()))
	close(release)
	require.Equal(t, "sunny", rec.Body.String())
	require.Equal(t, x402.ReasonPending, receiptOf(t, rec.Result().Header.Get("X-Payment-Response")).ErrorReason)
	require.Eventually(t, func() bool { return len(w.service.ended()) == 1 }, 4*shortTimeout, 10*time.Millisecond)
}

func TestMeteredResponseWithoutContentIsFree(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, nil)
	w.handler = func(rw http.ResponseWriter, r *http.Request) {
		_ = paywall.MeterFrom(r.Context()).Add(3000)
		rw.WriteHeader(http.StatusNotModified)
	}
	w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal())
	require.Equal(t, []string{"void txn_1 0"}, w.service.ended())
}

func TestReceiptNamesOnlyUnitsThatWerePaid(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, nil)
	w.handler = func(_ http.ResponseWriter, r *http.Request) {
		m := paywall.MeterFrom(r.Context())
		require.NoError(t, m.AddUnits("token", 10, 1000))
		for range 2 {
			require.ErrorIs(t, m.AddUnits("token", 1000, 1000), paywall.ErrMeterFull)
			require.ErrorIs(t, m.AddUnits("word", 1, 1), paywall.ErrMeterFull)
		}
	}
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code)
	require.Equal(t, &client.Usage{Unit: "token", Quantity: 100, UnitPriceMicros: 1000}, w.service.usage)
}

// TestServiceThatDoesNotHoldIsReported: one of an earlier version charges the price, which is
// then paid and served.
func TestServiceThatDoesNotHoldIsReported(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w, paid := metered(t, func(c *paywall.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	w.service.bend(func(rw http.ResponseWriter, r *http.Request, _ func()) bool {
		_, _ = io.WriteString(rw, `{"success":true,"transaction":"0x11","network":"eip155:84532","payer":"`+payer+`","transactionId":"txn_1"}`)
		return r.URL.Path == "/v1/paywall/settle"
	})
	w.handler = func(_ http.ResponseWriter, r *http.Request) { _ = paywall.MeterFrom(r.Context()).Add(3000) }
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code)
	require.EqualValues(t, 100_000, paid()[0].AmountMicros)
	require.Contains(t, log.String(), "charged the price of a metered route")
	require.Contains(t, log.String(), "txn_1")
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

func TestStreamHasItsReceiptInTheTrailer(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, nil)
	w.handler = func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			_ = paywall.MeterFrom(r.Context()).Add(10)
			_, _ = io.WriteString(rw, "data: x\n\n")
			flush(rw)
		}
	}
	srv := httptest.NewServer(w.protected(w.gate))
	defer srv.Close()
	get := func() *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL, http.NoBody)
		require.NoError(t, err)
		r.Header.Set("X-Service-Mandate", w.service.mandate(nil).Reveal())
		resp, err := srv.Client().Do(r)
		require.NoError(t, err)
		return resp
	}
	resp := get()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, strings.Repeat("data: x\n\n", 3), string(text))
	require.Empty(t, resp.Header.Get("X-Payment-Response"))
	require.EqualValues(t, 30, receiptOf(t, resp.Trailer.Get("X-Payment-Response")).Metered.CapturedMicros)

	w.handler = func(rw http.ResponseWriter, r *http.Request) { // too long to be delayed
		_ = paywall.MeterFrom(r.Context()).Add(10)
		rw.Header().Set("Trailer", "X-Own")
		_, _ = io.Copy(rw, strings.NewReader(strings.Repeat("long", 50_000)))
		rw.Header().Set("X-Own", "kept")
	}
	resp = get()
	text, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Len(t, text, 200_000)
	require.Equal(t, "kept", resp.Trailer.Get("X-Own"))
	require.EqualValues(t, 10, receiptOf(t, resp.Trailer.Get("X-Payment-Response")).Metered.CapturedMicros)
}

func TestDelayedResponseIsThatOfTheHandler(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, nil)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("X-Before", "a")
		rw.Header().Set("Cache-Control", "public")
		rw.WriteHeader(http.StatusCreated)
		rw.Header().Set("X-Before", "too late")
		rw.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(rw, "made")
	}
	rec := w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal())
	require.Equal(t, http.StatusCreated, rec.Code)
	require.Equal(t, "made", rec.Body.String())
	require.Equal(t, "a", rec.Result().Header.Get("X-Before"))
	require.Equal(t, "private", rec.Result().Header.Get("Cache-Control"))
}

func TestCardPaysWholeCentsOfWhatWasMetered(t *testing.T) {
	t.Parallel()
	for metered, want := range map[int64]string{612_345: "capture txn_1 610000", 9_999: "capture txn_1 10000", 1: "capture txn_1 10000", 0: "void txn_1 0", 700_000: "capture txn_1 700000"} {
		w, _ := byCard(t)
		w.handler = func(_ http.ResponseWriter, r *http.Request) { _ = paywall.MeterFrom(r.Context()).Add(metered) }
		rec := w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal())
		require.Equal(t, http.StatusOK, rec.Code)
		require.Equal(t, []string{want}, w.service.ended())
		receipt := receiptOf(t, rec.Result().Header.Get("X-Payment-Response")).Metered
		captured, err := strconv.ParseInt(want[strings.LastIndexByte(want, ' ')+1:], 10, 64)
		require.NoError(t, err)
		require.Equal(t, []int64{metered, captured}, []int64{receipt.MeteredMicros, receipt.CapturedMicros})
	}
}

// byCard returns a metered world of at most 0.70 whose mandates pay by card.
func byCard(t *testing.T) (*world, func() []paywall.Payment) {
	t.Helper()
	w, paid := metered(t, func(c *paywall.Config) { c.Price = "0.70" })
	w.service.bend(func(rw http.ResponseWriter, r *http.Request, settle func()) bool {
		if r.URL.Path != "/v1/paywall/settle" {
			return false
		}
		settle()
		_, _ = io.WriteString(rw, strings.Replace(w.service.hold(1), "eip155:84532", "card", 1))
		return true
	})
	return w, paid
}

func TestOtherCredentialsPayThePriceOfAMeteredRoute(t *testing.T) {
	t.Parallel()
	w, paid := metered(t, nil)
	w.handler = func(_ http.ResponseWriter, r *http.Request) {
		m := paywall.MeterFrom(r.Context())
		require.NoError(t, m.Add(3000))
		require.ErrorIs(t, m.Add(100_000), paywall.ErrMeterFull)
	}
	rec := w.ask("PAYMENT-SIGNATURE", w.payX402(w.gate, nil))
	require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
	require.Empty(t, w.service.ended())
	require.EqualValues(t, 100_000, paid()[0].AmountMicros)
}

func TestOfferSaysThatThePriceIsTheMost(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, nil)
	w.protected(w.gate)
	rec := w.ask()
	require.Equal(t, http.StatusPaymentRequired, rec.Code)
	require.Contains(t, body(t, rec)["message"], "at most 0.10 USDC")
	two, err := x402.DecodePaymentRequired(rec.Result().Header.Get("PAYMENT-REQUIRED"))
	require.NoError(t, err)
	methods, err := two.Methods()
	require.NoError(t, err)
	require.True(t, methods[0].Metered)
	require.Contains(t, w.ask("Accept", "text/html").Body.String(), "At most 0.10 USDC")
	for _, h := range []http.Handler{w.gate.LLMs(), w.gate.OpenAPI()} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, request(http.MethodGet))
		require.Regexp(t, `0.10 USDC at most|"metered":true`, rec.Body.String())
	}
	plain := w.gate.With(paywall.Route{Resource: resource})
	require.NotContains(t, body(t, w.through(plain))["message"], "at most", "a derived route is metered only if it says so")
}

func TestMeteredRouteNeedsThePayeesCredentials(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	for name, change := range map[string]func(*paywall.Config){
		"Metered":        func(c *paywall.Config) { c.Metered = true },
		"RefundUnserved": func(c *paywall.Config) { c.RefundUnserved = true },
		"Hold":           func(c *paywall.Config) { c.Hold = time.Second },
		"SignRefund": func(c *paywall.Config) {
			c.SignRefund = func(context.Context, client.Refund) (string, error) { return "", nil }
		},
	} {
		c := w.config()
		change(&c)
		_, err := paywall.New(c)
		require.ErrorContains(t, err, "paywall: "+name+": ")
	}
	_, err := w.gate.Derive(paywall.Route{Resource: resource, Metered: true})
	require.ErrorContains(t, err, "paywall: Metered: ")
}

func TestMeterCountsNothingAtTheEndOfTheHold(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, nil)
	w.handler = func(_ http.ResponseWriter, r *http.Request) {
		m := paywall.MeterFrom(r.Context())
		require.NoError(t, m.Add(1000))
		w.clock.Advance(59*time.Minute + 31*time.Second)
		require.ErrorIs(t, m.Add(1), paywall.ErrMeterEnded)
	}
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", w.service.mandate(nil).Reveal()).Code)
	require.Equal(t, []string{"capture txn_1 1000"}, w.service.ended())
}

func TestMeteredPriceDependsOnTheRequest(t *testing.T) {
	t.Parallel()
	w, _ := metered(t, func(c *paywall.Config) {
		c.PriceFunc = func(r *http.Request) (string, error) {
			if r.Header.Get("X-Size") == "" {
				return "", errors.New("no size")
			}
			return r.Header.Get("X-Size"), nil
		}
	})
	w.handler = func(_ http.ResponseWriter, r *http.Request) { _ = paywall.MeterFrom(r.Context()).Add(1_000_000) }
	token := w.service.mandate(nil).Reveal()
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", token, "X-Size", "0.25").Code)
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", token, "X-Size", "0.5").Code)
	require.Equal(t, []string{"capture txn_1 250000", "capture txn_3 500000"}, w.service.ended())
}
