package paywall_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
	"github.com/paywarrant/paywarrant/x402"
)

const settledBy = "0x3beC1D8FbF4CB1393E86d41B7710aed32B0a6195"

// uptoRequest is a request of the gate to the facilitator.
type uptoRequest struct {
	PaymentPayload struct {
		Payload x402.Upto
	}
	PaymentRequirements x402.Requirements
}

// supports answers with the kinds of payment that are settled.
func (s *service) supports(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.upto == "" {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	_, _ = fmt.Fprintf(w, `{"kinds":[{"x402Version":2,"scheme":"exact","network":"eip155:84532"},{"x402Version":2,"scheme":"upto","network":"eip155:84532",
		"extra":{"facilitatorAddress":%q}}],"extensions":[],"signers":{}}`, s.upto)
}

// settleUpto settles a permit once, for one amount, and records the amounts that were settled.
func (s *service) settleUpto(w http.ResponseWriter, r *http.Request, data []byte) {
	var req uptoRequest
	if err := json.Unmarshal(data, &req); err != nil || r.Header.Get("X-Service-Api-Key") != "sk_test_1" {
		http.Error(w, "bad", http.StatusBadRequest)
		return
	}
	a, q := req.PaymentPayload.Payload.Authorization, req.PaymentRequirements
	if code := s.refusal; code != "" {
		_, _ = fmt.Fprintf(w, `{"success":false,"errorReason":%q,"transaction":"","network":%q}`, code, q.Network)
		return
	}
	s.once(w, r, "upto:"+a.Nonce+r.Header.Get("Idempotency-Key"), func(int) string {
		s.ends = append(s.ends, "upto "+a.Nonce+" "+q.Amount)
		hash := transaction(88)
		if q.Amount == "0" {
			hash = ""
		}
		return fmt.Sprintf(`{"success":true,"transaction":%q,"network":%q,"payer":%q,"amount":%q}`, hash, q.Network, a.From, q.Amount)
	})
}

// meteredUpto returns a metered world whose service settles the scheme upto.
func meteredUpto(t *testing.T, change func(*paywall.Config)) (*world, func() []paywall.Payment) {
	t.Helper()
	w, paid := metered(t, change)
	w.service.upto = settledBy
	w.handler = func(rw http.ResponseWriter, r *http.Request) {
		_ = paywall.MeterFrom(r.Context()).AddUnits("token", 5, 700)
		_, _ = io.WriteString(rw, "sunny")
	}
	return w, paid
}

// offered returns what a gate offers in the scheme upto, and whether it does.
func (w *world) offered(g *paywall.Gate) (x402.PaymentRequired, x402.Requirements, bool) {
	w.t.Helper()
	required, err := x402.DecodePaymentRequired(w.through(g).Result().Header.Get("Payment-Required"))
	require.NoError(w.t, err)
	for _, a := range required.Accepts {
		if a.Scheme == x402.SchemeUpto {
			return required, a, true
		}
	}
	return required, x402.Requirements{}, false
}

// payUpto returns a payment of what a gate offers in the scheme upto.
func (w *world) payUpto(g *paywall.Gate, nonce int, change func(accepted *x402.Requirements, u *x402.Upto)) string {
	w.t.Helper()
	required, accepted, ok := w.offered(g)
	require.True(w.t, ok)
	u := x402.Upto{Signature: "0x" + strings.Repeat("11", 65), Authorization: x402.UptoAuthorization{
		From: payer, Permitted: x402.UptoPermitted{Token: accepted.Asset, Amount: accepted.Amount}, Spender: "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002",
		Nonce: strconv.Itoa(nonce), Deadline: strconv.FormatInt(w.clock.Now().Unix()+accepted.MaxTimeoutSeconds, 10),
		Witness: x402.UptoWitness{To: accepted.PayTo, Facilitator: accepted.Extra[x402.ExtraFacilitator].(string), ValidAfter: "0"},
	}}
	if change != nil {
		change(&accepted, &u)
	}
	text, err := json.Marshal(map[string]any{"x402Version": 2, "resource": required.Resource, "accepted": accepted, "payload": u})
	require.NoError(w.t, err)
	return base64.StdEncoding.EncodeToString(text)
}

func TestUptoPaysWhatTheRequestUsed(t *testing.T) {
	t.Parallel()
	w, paid := meteredUpto(t, nil)
	required, accepted, ok := w.offered(w.gate)
	require.True(t, ok)
	require.Equal(t, []string{"upto", "exact"}, []string{required.Accepts[0].Scheme, required.Accepts[1].Scheme}, "clients make the first payment that they can")
	require.Equal(t, x402.Requirements{
		Scheme: "upto", Network: "eip155:84532", Amount: "100000", Asset: required.Accepts[1].Asset, PayTo: payTo, MaxTimeoutSeconds: 3600,
		Extra: map[string]any{"name": "USDC", "version": "2", "assetTransferMethod": "permit2", "facilitatorAddress": settledBy},
	}, accepted)
	rec := w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 1, nil))
	require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
	require.Equal(t, "sunny", rec.Body.String())
	require.Equal(t, []string{"upto 1 3500"}, w.service.ended())
	header := rec.Result().Header
	require.Empty(t, header.Get("X-Payment-Response"))
	require.Equal(t, x402.Settlement{
		Success: true, Transaction: transaction(88), Network: "eip155:84532", Payer: payer, Amount: "3500", Metered: &x402.Metered{
			AuthorizedMicros: 100_000, MeteredMicros: 3500, CapturedMicros: 3500, Usage: &x402.Usage{Unit: "token", Quantity: 5, UnitPriceMicros: 700},
		},
	}, receiptOf(t, header.Get("Payment-Response")))
	require.Len(t, paid(), 1)
	require.Equal(t, []any{int64(3500), "upto", transaction(88), payer}, []any{paid()[0].AmountMicros, paid()[0].Scheme, paid()[0].Transaction, paid()[0].Payer})
	require.Equal(t, []any{"upto", int64(0), int64(100_000)}, []any{w.seen.Scheme, w.seen.AmountMicros, w.seen.AuthorizedMicros})
}

// TestUptoIsServedOnce: the same payment again is refused.
func TestUptoIsServedOnce(t *testing.T) {
	t.Parallel()
	w, _ := meteredUpto(t, nil)
	payment := w.payUpto(w.gate, 1, nil)
	require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", payment).Code)
	again := w.ask("PAYMENT-SIGNATURE", payment)
	require.Equal(t, []any{http.StatusPaymentRequired, "already_redeemed"}, []any{again.Code, body(t, again)["code"]})
	require.EqualValues(t, 1, w.served.Load())
	require.Equal(t, []string{"upto 1 3500"}, w.service.ended())
}

// TestUptoStreamNamesItsSettlementInTheTrailer: of version 2.
func TestUptoStreamNamesItsSettlementInTheTrailer(t *testing.T) {
	t.Parallel()
	w, _ := meteredUpto(t, nil)
	w.handler = func(rw http.ResponseWriter, r *http.Request) {
		for range 3 {
			_ = paywall.MeterFrom(r.Context()).Add(1000)
			_, _ = io.WriteString(rw, "data: 1\n\n")
			_ = http.NewResponseController(rw).Flush()
		}
	}
	rec := w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 1, nil))
	require.Equal(t, http.StatusOK, rec.Code)
	require.Equal(t, "Payment-Response", rec.Result().Header.Get("Trailer"))
	s := receiptOf(t, rec.Result().Trailer.Get("Payment-Response"))
	require.Equal(t, []any{true, "3000", transaction(88)}, []any{s.Success, s.Amount, s.Transaction})
}

// TestUptoOfNothingSettlesNothing: what counts nothing, and what was not served.
func TestUptoOfNothingSettlesNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		status  int
	}{
		"nothing metered": {func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "free") }, http.StatusOK},
		"not served": {func(rw http.ResponseWriter, r *http.Request) {
			_ = paywall.MeterFrom(r.Context()).Add(1000)
			http.Error(rw, "broken", http.StatusInternalServerError)
		}, http.StatusInternalServerError},
	} {
		w, paid := meteredUpto(t, nil)
		w.handler = tc.handler
		rec := w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 1, nil))
		require.Equal(t, tc.status, rec.Code, name)
		require.Equal(t, []string{"upto 1 0"}, w.service.ended(), name)
		s := receiptOf(t, rec.Result().Header.Get("Payment-Response"))
		require.Equal(t, []any{true, "0", "", int64(0)}, []any{s.Success, s.Amount, s.Transaction, s.Metered.CapturedMicros}, name)
		require.Empty(t, paid(), name)
	}
}

// TestUptoThatDoesNotVerifyIsNotServed: and can be paid again at once.
func TestUptoThatDoesNotVerifyIsNotServed(t *testing.T) {
	t.Parallel()
	w, _ := meteredUpto(t, nil)
	payment := w.payUpto(w.gate, 1, nil)
	w.service.verdict = `{"isValid":false,"invalidReason":"permit2_allowance_required"}`
	rec := w.ask("PAYMENT-SIGNATURE", payment)
	require.Equal(t, []any{http.StatusPaymentRequired, "permit2_allowance_required"}, []any{rec.Code, body(t, rec)["code"]})
	refused, err := x402.DecodeSettlement(rec.Result().Header.Get("Payment-Response"))
	require.NoError(t, err)
	require.False(t, refused.Success)
	require.Zero(t, w.served.Load())
	w.service.verdict = ""
	w.service.verifies(func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "down", http.StatusBadGateway) })
	require.Equal(t, http.StatusBadGateway, w.ask("PAYMENT-SIGNATURE", payment).Code)
	require.Zero(t, w.served.Load())
	w.service.verifies(nil)
	require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", payment).Code)
}

// TestUptoThatDiffersFromTheOffer: is refused without a call.
func TestUptoThatDiffersFromTheOffer(t *testing.T) {
	t.Parallel()
	w, _ := meteredUpto(t, nil)
	for name, tc := range map[string]struct {
		change func(accepted *x402.Requirements, u *x402.Upto)
		code   string
	}{
		"less":          {func(_ *x402.Requirements, u *x402.Upto) { u.Authorization.Permitted.Amount = "99999" }, "permit2_amount_mismatch"},
		"more":          {func(_ *x402.Requirements, u *x402.Upto) { u.Authorization.Permitted.Amount = "100001" }, "permit2_amount_mismatch"},
		"accepted less": {func(q *x402.Requirements, _ *x402.Upto) { q.Amount = "99999" }, "invalid_payment_requirements"},
		"other payee":   {func(_ *x402.Requirements, u *x402.Upto) { u.Authorization.Witness.To = payer }, "invalid_permit2_recipient_mismatch"},
		"other token":   {func(_ *x402.Requirements, u *x402.Upto) { u.Authorization.Permitted.Token = payer }, "permit2_token_mismatch"},
		"other relayer": {func(q *x402.Requirements, _ *x402.Upto) { q.Extra[x402.ExtraFacilitator] = payer }, "invalid_payment_requirements"},
		"expired":       {func(_ *x402.Requirements, u *x402.Upto) { u.Authorization.Deadline = "1" }, "permit2_deadline_expired"},
		"too short": {func(_ *x402.Requirements, u *x402.Upto) {
			u.Authorization.Deadline = strconv.FormatInt(w.clock.Now().Unix()+20, 10)
		}, "permit2_deadline_expired"},
		"later": {func(_ *x402.Requirements, u *x402.Upto) {
			u.Authorization.Witness.ValidAfter = u.Authorization.Deadline
		}, "permit2_not_yet_valid"},
	} {
		rec := w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 1, tc.change))
		require.Equal(t, []any{http.StatusPaymentRequired, tc.code}, []any{rec.Code, body(t, rec)["code"]}, name)
	}
	require.Zero(t, w.service.count("/v1/x402/verify"))
	require.Zero(t, w.served.Load())
}

// TestUptoThatExpiresWhileMeteringStopsTheMeter: before the payment can no longer be settled.
func TestUptoThatExpiresWhileMeteringStopsTheMeter(t *testing.T) {
	t.Parallel()
	w, _ := meteredUpto(t, nil)
	w.handler = func(rw http.ResponseWriter, r *http.Request) {
		m := paywall.MeterFrom(r.Context())
		require.NoError(t, m.Add(1000))
		w.clock.Advance(time.Hour - 30*time.Second)
		require.ErrorIs(t, m.Add(1000), paywall.ErrMeterEnded)
		_, _ = io.WriteString(rw, "sunny")
	}
	require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 1, nil)).Code)
	require.Equal(t, []string{"upto 1 1000"}, w.service.ended())
}

// TestUptoThatCannotBeSettledIsNotServed: the payer used the nonce, or has spent the money,
// while the handler ran. What was not sent yet stays unsent.
func TestUptoThatCannotBeSettledIsNotServed(t *testing.T) {
	t.Parallel()
	w, paid := meteredUpto(t, nil)
	payment := w.payUpto(w.gate, 1, nil)
	w.service.refusal = "permit2_invalid_nonce"
	rec := w.ask("PAYMENT-SIGNATURE", payment)
	require.Equal(t, []any{http.StatusPaymentRequired, "permit2_invalid_nonce"}, []any{rec.Code, body(t, rec)["code"]})
	require.NotContains(t, rec.Body.String(), "sunny")
	require.Empty(t, paid())
}

// TestUptoOfAGateThatDiedIsSettledOnce: between serving and settling, for what was metered.
func TestUptoOfAGateThatDiedIsSettledOnce(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{true, false} {
		w, _ := meteredUpto(t, nil)
		db := openDB(t, "sqlite")
		var down atomic.Bool
		down.Store(lost)
		w.service.bend(func(rw http.ResponseWriter, r *http.Request, _ func()) bool {
			if down.Load() && strings.HasSuffix(r.URL.Path, "/x402/settle") {
				http.Error(rw, "down", http.StatusBadGateway)
				return true
			}
			return false
		})
		first := w.meteredGate(&dying{SQL: openSQL(t, db, w.clock)})
		payment := w.payUpto(first, 1, nil)
		w.through(first, "PAYMENT-SIGNATURE", payment)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = first.Shutdown(ctx)
		down.Store(false)
		w.clock.Advance(11 * time.Minute)
		again := w.through(w.meteredGate(openSQL(t, db, w.clock)), "PAYMENT-SIGNATURE", payment)
		require.Equal(t, []any{http.StatusPaymentRequired, "already_redeemed"}, []any{again.Code, body(t, again)["code"]})
		require.Equal(t, []string{"upto 1 3500"}, w.service.ended())
		require.EqualValues(t, 1, w.served.Load())
	}
}

// TestUptoIsSettledLater: if the service is down, or its gas budget used up. The response
// names that it is pending.
func TestUptoIsSettledLater(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"down": "down", "gas budget": `{"success":false,"errorReason":"relayer_gas_budget_exceeded","transaction":"","network":"eip155:84532"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := meteredUpto(t, nil)
			var refused atomic.Int64
			w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
				if refused.Add(1) == 1 {
					_, _ = io.WriteString(rw, answer)
					return true
				}
				return false
			})
			rec := w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 1, nil))
			require.Equal(t, http.StatusOK, rec.Code)
			require.Equal(t, x402.ReasonPending, receiptOf(t, rec.Result().Header.Get("Payment-Response")).ErrorReason)
			require.Eventually(t, func() bool { return len(w.service.ended()) == 1 }, shortTimeout, 10*time.Millisecond)
			require.Equal(t, []string{"upto 1 3500"}, w.service.ended())
		})
	}
}

// TestUptoIsNotOfferedWithoutTheServicesAnswer: exact is, and once it answered the offer stays.
func TestUptoIsNotOfferedWithoutTheServicesAnswer(t *testing.T) {
	t.Parallel()
	w, _ := meteredUpto(t, nil)
	w.service.upto = ""
	_, _, ok := w.offered(w.gate)
	require.False(t, ok)
	w.service.upto = settledBy
	_, _, ok = w.offered(w.gate)
	require.False(t, ok, "it is not asked for each request")
	w.clock.Advance(10 * time.Second)
	_, _, ok = w.offered(w.gate)
	require.True(t, ok)
	w.service.upto = ""
	w.clock.Advance(time.Hour)
	_, _, ok = w.offered(w.gate)
	require.True(t, ok, "the last answer")
	plain, err := w.gate.Derive(paywall.Route{Resource: "https://api.example.com/plain"})
	require.NoError(t, err)
	w.service.upto = settledBy
	_, _, ok = w.offered(plain)
	require.False(t, ok, "a route with a fixed price")
}
