package paywall_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

func TestBareMandateIsSettledAndServed(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.Merchant = paywall.Merchant{ID: "mer_1", APIKey: "sk_test_1"} })
	token := w.service.mandate(nil).Reveal()
	rec := w.ask("X-Service-Mandate", token)
	require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
	require.Equal(t, "sunny", rec.Body.String())
	require.Equal(t, "private", rec.Result().Header.Get("Cache-Control"))
	s, err := x402.DecodeSettlement(rec.Result().Header.Get("X-PAYMENT-RESPONSE"))
	require.NoError(t, err)
	require.Equal(t, x402.Settlement{Success: true, Transaction: transaction(1), Network: "eip155:84532", Payer: payer}, s)
	require.Equal(t, paywall.Payment{
		Credential: paywall.CredentialMandate, Scheme: "mandate", Payer: payer, Transaction: transaction(1), Network: "eip155:84532",
		AmountMicros: 10_000, TransactionID: "txn_1",
	}, w.seen)

	sent := w.service.mandates[0]
	require.Equal(t, []string{token, "0.01", payTo, "eip155:84532", resource}, []string{sent.Mandate, sent.Price, sent.PayTo, sent.Network, sent.Resource})
	require.NotEmpty(t, sent.IdempotencyKey)
	require.Equal(t, "sk_test_1", w.service.headers[0].Get("X-Service-Api-Key"))
	require.Equal(t, "mer_1", w.service.headers[0].Get("X-Service-Merchant-Id"))
}

func TestEachBareMandateIsAPurchaseOfItsOwn(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	token := w.service.mandate(nil).Reveal()
	for range 3 {
		require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", token).Code)
	}
	require.Equal(t, 3, w.service.moved())
	require.Equal(t, 1, w.service.count("/.well-known/jwks.json"), "keys are cached")
	require.Empty(t, w.service.headers[0].Get("X-Service-Api-Key"), "merchant credentials are optional")
}

func TestMandatesThatAreRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	good := w.service.mandate(nil).Reveal()
	small := w.service.mandate(func(m *mandate.Terms) { m.Limits.MaxPerTxCents = 1 }).Reveal()
	dear := w.gate.With(paywall.Route{Price: "0.010001", Resource: resource})
	signature := strings.Index(good, "~") - 20
	forged := good[:signature] + "AAAA" + good[signature+4:]
	foreign := newService(t, w.clock).mandate(nil).Reveal()
	for name, tc := range map[string]struct {
		gate  *paywall.Gate
		token string
		code  string
	}{
		"garbage":          {w.gate, "dtok_garbage", "validation_error"},
		"signature":        {w.gate, forged, "mandate_invalid"},
		"another issuer":   {w.gate, foreign, "mandate_invalid"},
		"above the limit":  {dear, small, "per_tx"},
		"longer than read": {w.gate, strings.Repeat("a", 200<<10), "validation_error"},
	} {
		rec := w.through(tc.gate, "X-Service-Mandate", tc.token)
		require.Equal(t, http.StatusPaymentRequired, rec.Code, name)
		all := body(t, rec)
		require.Equal(t, tc.code, all["code"], name)
		require.Equal(t, tc.code, all["error"], name)
		require.NotEmpty(t, all["requestId"], name)
		require.NotEmpty(t, all["accepts"], name)
		require.NotEmpty(t, rec.Result().Header.Get("PAYMENT-REQUIRED"), name)
		require.NotEmpty(t, challengeOf(t, rec).ID, name)
	}
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", small).Code, "exactly the limit")
	w.clock.Advance(31 * 24 * time.Hour)
	require.Equal(t, "mandate_expired", body(t, w.ask("X-Service-Mandate", good))["code"])
	require.Equal(t, 1, w.service.count("/v1/paywall/settle"))
}

func TestRefusalsOfTheServiceArePassedOn(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	token := w.service.mandate(nil).Reveal()
	for refusal, want := range map[string]int{
		"402 per_tx": 402, "402 monthly": 402, "402 merchant_limit_exceeded": 402, "402 rail_unavailable": 402,
		"403 mandate_revoked": 402, "403 mandate_expired": 402, "403 merchant_not_allowed": 402, "403 mandate_invalid": 402,
		"403 merchant_inactive": 402, "409 idempotency_in_progress": 409, "422 idempotency_mismatch": 422,
		"401 unauthorized": 502, "429 rate_limit_exceeded": 502, "500 internal_error": 502, "503 unavailable": 502, "500 monthly": 502, "400 validation_error": 502,
	} {
		w.service.refusal = refusal
		rec := w.ask("X-Service-Mandate", token)
		require.Equal(t, want, rec.Code, refusal)
		_, code, _ := strings.Cut(refusal, " ")
		all := body(t, rec)
		if want >= 500 {
			require.Equal(t, "facilitator_unavailable", all["code"], refusal)
			require.NotContains(t, rec.Body.String(), "does not allow", "texts of outages are not passed on")
			require.NotEmpty(t, rec.Result().Header.Get("Retry-After"), refusal)
			require.Empty(t, rec.Result().Header.Get("PAYMENT-REQUIRED"), "no new price")
			continue
		}
		require.Equal(t, code, strings.Replace(all["code"].(string), "credential_in_use", "idempotency_in_progress", 1), refusal)
		if want == 402 {
			require.InDelta(t, 500, all["limitCents"], 0, refusal)
		}
	}
	require.Zero(t, w.served.Load())
}

func TestIdempotencyKeyMakesARetrySafe(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	token := w.service.mandate(nil).Reveal()
	other := w.service.mandate(func(m *mandate.Terms) { m.ID = "del_01JD7Q8XKQ2V5T9N3W6Y0ZB4CG" }).Reveal()
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", token, "Idempotency-Key", "1").Code)
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", other, "Idempotency-Key", "1").Code, "keys of two mandates do not meet")
	rec := w.ask("X-Service-Mandate", token, "Idempotency-Key", "1")
	require.Equal(t, http.StatusPaymentRequired, rec.Code)
	require.Equal(t, "already_redeemed", body(t, rec)["code"])
	require.Equal(t, 2, w.service.moved())
	dear := w.gate.With(paywall.Route{Price: "0.02", Resource: resource})
	require.Equal(t, http.StatusConflict, w.through(dear, "X-Service-Mandate", token, "Idempotency-Key", "1").Code)
	require.Equal(t, http.StatusBadRequest, w.ask("X-Service-Mandate", token, "Idempotency-Key", "ü").Code)
	require.EqualValues(t, 2, w.served.Load())
}

func TestPresentationIsGoodForOnePayment(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	token := w.service.mandate(nil)
	for name, change := range map[string]func(*mandate.Binding){
		"price":    func(b *mandate.Binding) { b.Transaction.AmountMicros-- },
		"payee":    func(b *mandate.Binding) { b.Transaction.PayTo = payer },
		"network":  func(b *mandate.Binding) { b.Transaction.Network = "eip155:8453" },
		"resource": func(b *mandate.Binding) { b.Transaction.Resource += "2" },
		"audience": func(b *mandate.Binding) { b.Audience = "https://evil.example" },
		"old":      func(b *mandate.Binding) { b.IssuedAt = b.IssuedAt.Add(-10 * time.Minute) },
	} {
		rec := w.ask("X-Service-Mandate", w.service.present(token, "challenge-1", change))
		require.Equal(t, http.StatusPaymentRequired, rec.Code, name)
		require.Contains(t, []any{"credential_for_another_payment", "mandate_invalid"}, body(t, rec)["code"], name)
	}
	require.Zero(t, w.service.moved())
	good := w.service.present(token, "challenge-1", nil)
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", good).Code)
	require.Equal(t, "challenge-1", w.service.mandates[0].ChallengeID)
	again := w.service.present(token, "challenge-1", func(b *mandate.Binding) { b.IssuedAt = b.IssuedAt.Add(time.Second) })
	for _, spent := range []string{good, again} {
		require.Equal(t, "already_redeemed", body(t, w.ask("X-Service-Mandate", spent))["code"])
	}
	require.Equal(t, 1, w.service.moved())
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", w.service.present(token, "challenge-2", nil)).Code)
}

func TestFacilitatorOutageLetsNoRequestThrough(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	token := w.service.mandate(nil).Reveal()
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", token).Code)
	w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
		conn, _, err := rw.(http.Hijacker).Hijack()
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		return true
	})
	rec := w.ask("X-Service-Mandate", token)
	require.Equal(t, http.StatusBadGateway, rec.Code)
	require.Equal(t, "5", rec.Result().Header.Get("Retry-After"))
	require.Equal(t, "no-store", rec.Result().Header.Get("Cache-Control"))
	require.NotEmpty(t, rec.Result().Header.Get("Idempotency-Key"))
	w.service.bend(nil)
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", token).Code, "works after it is back")
	require.EqualValues(t, 2, w.served.Load())

	w.service.Close()
	w.clock.Advance(time.Hour)
	require.Equal(t, http.StatusBadGateway, w.ask("X-Service-Mandate", token).Code, "the keys cannot be read either")
}

func TestRetryAfterALostAnswerPaysTwiceNever(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(http.ResponseWriter){
		"502 after settling": func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusBadGateway) },
		"connection cut":     func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"torn answer":        func(rw http.ResponseWriter) { _, _ = rw.Write([]byte(`{"success":tr`)) },
		"success for nothing": func(rw http.ResponseWriter) {
			_, _ = rw.Write([]byte(`{"success":true,"transaction":"","network":"eip155:84532"}`))
		},
		"a second 402":    func(rw http.ResponseWriter) { rw.WriteHeader(http.StatusPaymentRequired) },
		"a text for JSON": func(rw http.ResponseWriter) { _, _ = rw.Write([]byte(`settled!`)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, nil)
			token := w.service.mandate(nil).Reveal()
			w.service.bend(func(rw http.ResponseWriter, _ *http.Request, settle func()) bool {
				settle()
				lose(rw)
				return true
			})
			rec := w.ask("X-Service-Mandate", token)
			require.Equal(t, http.StatusBadGateway, rec.Code, rec.Body.String())
			require.Zero(t, w.served.Load())
			w.service.bend(nil)
			require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", token).Code)
			require.Equal(t, 1, w.service.moved())
			require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", token).Code)
			require.Equal(t, 2, w.service.moved(), "and the next one is a purchase again")
		})
	}
}

func TestSlowServiceIsATimeout(t *testing.T) {
	t.Parallel()
	w := setup(t, func(c *paywall.Config) { c.CallTimeout = shortTimeout })
	presentation := w.service.present(w.service.mandate(nil), "n", nil)
	w.service.bend(func(_ http.ResponseWriter, r *http.Request, settle func()) bool {
		settle()
		<-r.Context().Done()
		return true
	})
	rec := w.ask("X-Service-Mandate", presentation)
	require.Equal(t, http.StatusGatewayTimeout, rec.Code)
	require.Equal(t, "facilitator_timeout", body(t, rec)["code"])
	w.service.bend(nil)
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", presentation).Code)
	require.Equal(t, 1, w.service.moved())
}

func TestPendingSettlementIsAskedAfterOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	presentation := w.service.present(w.service.mandate(nil), "n", nil)
	left := 3
	w.service.bend(func(rw http.ResponseWriter, _ *http.Request, settle func()) bool {
		settle()
		if left--; left < 0 {
			return false
		}
		_, _ = rw.Write([]byte(`{"success":false,"errorReason":"settlement_pending","transaction":"` + transaction(1) + `"}`))
		return true
	})
	rec := w.ask("X-Service-Mandate", presentation)
	require.Equal(t, http.StatusGatewayTimeout, rec.Code)
	require.Equal(t, "settlement_pending", body(t, rec)["code"])
	require.Equal(t, 2, w.service.count("/v1/paywall/settle"))
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", presentation).Code)
	require.Equal(t, 1, w.service.moved())
}

func TestPendingSettlementThatLandsIsServedAtOnce(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	pending := true
	w.service.bend(func(rw http.ResponseWriter, _ *http.Request, settle func()) bool {
		settle()
		if !pending {
			return false
		}
		pending = false
		_, _ = rw.Write([]byte(`{"success":false,"errorReason":"settlement_pending","transaction":"` + transaction(1) + `"}`))
		return true
	})
	require.Equal(t, http.StatusOK, w.ask("X-Service-Mandate", w.service.present(w.service.mandate(nil), "n", nil)).Code)
	require.Equal(t, 1, w.service.moved())
}

func TestRefusalOfARailSaysWhy(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	dear := w.gate.With(paywall.Route{Price: "0.50", Resource: resource})
	for _, tc := range []struct {
		gate          *paywall.Gate
		reason, words string
	}{
		{w.gate, "card_declined", "card of the mandate was declined"},
		{w.gate, "rail_unavailable", "No rail of the mandate can pay here"},
		{dear, "rail_unavailable", "No rail of the mandate can pay here"},
		{w.gate, "insufficient_funds", "does not hold 0.01 USDC"},
		{w.gate, "wallet_blacklisted", "refused: wallet_blacklisted."},
		{w.gate, "<b>", "refused: invalid_payload."},
	} {
		w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
			_, _ = rw.Write([]byte(`{"success":false,"errorReason":"` + tc.reason + `"}`))
			return true
		})
		rec := w.through(tc.gate, "X-Service-Mandate", w.service.mandate(nil).Reveal())
		require.Equal(t, http.StatusPaymentRequired, rec.Code)
		require.Contains(t, body(t, rec)["message"], tc.words)
		if tc.reason != "<b>" {
			require.Equal(t, tc.reason, body(t, rec)["code"])
		}
	}
	require.Zero(t, w.served.Load())
}

func TestMandateTokenInLogsAndErrors(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	w := setup(t, func(c *paywall.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	token := w.service.mandate(nil).Reveal()
	answers := ""
	for _, refusal := range []string{"402 monthly", "503 unavailable", ""} {
		w.service.refusal = refusal
		rec := w.ask("X-Service-Mandate", token)
		answers += rec.Body.String()
		for _, values := range rec.Result().Header {
			answers += strings.Join(values, "\n")
		}
	}
	answers += w.ask("X-Service-Mandate", token[:len(token)-40]).Body.String()
	require.Contains(t, log.String(), "code=monthly")
	for _, part := range []string{token, token[20:60], token[len(token)/2:][:40]} {
		require.NotContains(t, log.String(), part)
		require.NotContains(t, answers, part)
	}
}

// lost sends a request without a key whose settlement is made and not answered. It returns
// the key that the gate names.
func (w *world) lost(token string) string {
	w.t.Helper()
	w.service.bend(func(rw http.ResponseWriter, _ *http.Request, settle func()) bool {
		settle()
		rw.WriteHeader(http.StatusBadGateway)
		return true
	})
	defer w.service.bend(nil)
	key := w.ask("X-Service-Mandate", token).Header().Get("Idempotency-Key")
	require.NotEmpty(w.t, key)
	return key
}

func TestRepeatWithTheNamedKeyLocksNoMandateOut(t *testing.T) {
	t.Parallel()
	memory := paywall.NewMemory(paywall.MemoryConfig{Clock: newClock().Now})
	for name, change := range map[string]func(*paywall.Config){
		"same instance": nil, "another instance": func(c *paywall.Config) { c.Redemptions = memory },
	} {
		w := setup(t, change)
		other := w.gate
		if change != nil {
			other = w.newGate(change) // it shares the store, and not the keys that were named
		}
		token := w.service.mandate(nil).Reveal()
		for range 3 {
			key := w.lost(token)
			require.Equal(t, 200, w.through(other, "X-Service-Mandate", token, "Idempotency-Key", key).Code, name)
		}
		require.Equal(t, 3, w.service.moved())
		for n := range 3 {
			require.Equal(t, 200, w.ask("X-Service-Mandate", token).Code, name)
			require.Equal(t, 4+n, w.service.moved(), "each is a purchase of its own")
		}
	}
}

// The key may be served after the request without a key has taken it.
func TestKeyThatIsServedMeanwhileIsReplaced(t *testing.T) {
	t.Parallel()
	store := late{wait: func() {}}
	w := setup(t, func(c *paywall.Config) {
		store.Redemptions = paywall.NewMemory(paywall.MemoryConfig{Clock: c.Clock})
		c.Redemptions = &store
	})
	token := w.service.mandate(nil).Reveal()
	key := w.lost(token)
	store.wait = func() {
		store.wait = func() {}
		require.Equal(t, 200, w.ask("X-Service-Mandate", token, "Idempotency-Key", key).Code)
	}
	require.Equal(t, 200, w.ask("X-Service-Mandate", token).Code)
	require.Equal(t, 2, w.service.moved())
}

func TestPaymentOfANamedKeyIsStillTakenUp(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	token := w.service.mandate(nil).Reveal()
	key := w.lost(token)
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusInternalServerError) }
	require.Equal(t, 500, w.ask("X-Service-Mandate", token, "Idempotency-Key", key).Code)
	w.handler = sunny
	require.Equal(t, 200, w.ask("X-Service-Mandate", token).Code, "the payment that was not served")
	require.Equal(t, 1, w.service.moved())
}
