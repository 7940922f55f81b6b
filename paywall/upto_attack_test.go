package paywall_test

import (
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

// until returns a change of a permit: its deadline is in so many seconds.
func (w *world) until(seconds int64) func(*x402.Requirements, *x402.Upto) {
	return func(_ *x402.Requirements, u *x402.Upto) {
		u.Authorization.Deadline = strconv.FormatInt(w.clock.Now().Unix()+seconds, 10)
	}
}

func TestPayerDoesNotChooseTheDeadlineOfUpto(t *testing.T) {
	t.Parallel()
	w, _ := meteredUpto(t, func(c *paywall.Config) { c.Hold = 5 * time.Minute })
	for seconds, code := range map[int64]string{
		32: "permit2_deadline_expired", 269: "permit2_deadline_expired", 331: "invalid_payload", 4102444800: "invalid_payload",
	} {
		rec := w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 1, w.until(seconds)))
		require.Equal(t, []any{http.StatusPaymentRequired, code}, []any{rec.Code, body(t, rec)["code"]}, "%d s", seconds)
		require.Contains(t, body(t, rec)["message"], "300 seconds")
	}
	require.Zero(t, w.served.Load())
	require.Zero(t, w.service.count("/v1/x402/verify"))
	for i, seconds := range []int64{270, 330} {
		require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 10+i, w.until(seconds))).Code, "%d s", seconds)
	}
}

// TestResponseThatIsCountedAfterTheHoldIsNotSent checks handlers that count once, at their end.
func TestResponseThatIsCountedAfterTheHoldIsNotSent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pay func(w *world) (header, value string)
		end string
	}{
		"a wallet":  {func(w *world) (string, string) { return "PAYMENT-SIGNATURE", w.payUpto(w.gate, 1, nil) }, "upto 1 0"},
		"a mandate": {func(w *world) (string, string) { return "X-Service-Mandate", w.service.mandate(nil).Reveal() }, "void txn_1 0"},
	} {
		w, paid := meteredUpto(t, nil)
		w.handler = func(rw http.ResponseWriter, r *http.Request) {
			w.clock.Advance(time.Hour - 29*time.Second)
			require.ErrorIs(t, paywall.MeterFrom(r.Context()).Add(3000), paywall.ErrMeterEnded)
			_, _ = io.WriteString(rw, "sunny")
		}
		header, value := tc.pay(w)
		rec := w.ask(header, value)
		require.Equal(t, []any{http.StatusPaymentRequired, "authorization_ended"}, []any{rec.Code, body(t, rec)["code"]}, name)
		require.NotContains(t, rec.Body.String(), "sunny", name)
		require.Equal(t, []string{tc.end}, w.service.ended(), name)
		require.Empty(t, paid(), name)
	}
}

// settleKeys returns the keys under which a permit is verified and settled at a gate.
func (w *world) settleKeys(g *paywall.Gate, nonce int) (verified, settled string) {
	w.t.Helper()
	w.service.verifies(func(rw http.ResponseWriter, r *http.Request) {
		verified = r.Header.Get("Idempotency-Key")
		_, _ = io.WriteString(rw, `{"isValid":true}`)
	})
	defer w.service.verifies(nil)
	require.Equal(w.t, http.StatusOK, w.through(g, "PAYMENT-SIGNATURE", w.payUpto(g, nonce, nil)).Code)
	w.service.mu.Lock()
	defer w.service.mu.Unlock()
	return verified, w.service.headers[len(w.service.headers)-1].Get("Idempotency-Key")
}

// TestUptoIsVerifiedForOneStoreOfPayments checks the key by which the service knows that
// another gate asks about the same permit.
func TestUptoIsVerifiedForOneStoreOfPayments(t *testing.T) {
	t.Parallel()
	w, _ := meteredUpto(t, nil)
	db := openDB(t, "sqlite")
	keys := map[string]string{}
	for i, g := range map[string]*paywall.Gate{
		"memory": w.meteredGate(nil), "another memory": w.meteredGate(nil), "another database": w.meteredGate(openSQL(t, openDB(t, "sqlite"), w.clock)),
		"database": w.meteredGate(openSQL(t, db, w.clock)),
	} {
		verified, settled := w.settleKeys(g, 1)
		require.NotEmpty(t, verified, i)
		require.Equal(t, verified, settled, i)
		require.NotContains(t, keys, verified, i)
		keys[verified] = i
	}
	_, err := db.ExecContext(t.Context(), "DELETE FROM paywall_redemptions")
	require.NoError(t, err)
	clear(w.service.first)
	same, _ := w.settleKeys(w.meteredGate(openSQL(t, db, w.clock)), 1)
	require.Equal(t, "database", keys[same], "instances share the key")
}

// TestUptoThatAnotherGateSettledIsNotPaid checks that one transfer is not counted as two
// payments.
func TestUptoThatAnotherGateSettledIsNotPaid(t *testing.T) {
	t.Parallel()
	w, paid := meteredUpto(t, nil)
	w.service.bend(func(rw http.ResponseWriter, r *http.Request, settle func()) bool {
		settle() // for another gate, which used the same key
		rw.Header().Set("Idempotency-Replayed", "true")
		_, _ = fmt.Fprintf(rw, `{"success":true,"transaction":%q,"network":"eip155:84532","payer":%q,"amount":"3500"}`, transaction(88), payer)
		return true
	})
	rec := w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 1, nil))
	require.Equal(t, []any{http.StatusPaymentRequired, "duplicate_settlement"}, []any{rec.Code, body(t, rec)["code"]})
	require.NotContains(t, rec.Body.String(), "sunny")
	require.Empty(t, paid())
}

// refusesToSettle makes the service refuse the first n settlements.
func (s *service) refusesToSettle(reason string, n int64) {
	var asked atomic.Int64
	s.bend(func(rw http.ResponseWriter, r *http.Request, _ func()) bool {
		if !strings.HasSuffix(r.URL.Path, "/settle") || asked.Add(1) > n {
			return false
		}
		_, _ = fmt.Fprintf(rw, `{"success":false,"errorReason":%q,"transaction":"","network":"eip155:84532"}`, reason)
		return true
	})
}

func (w *world) streams() {
	w.handler = func(rw http.ResponseWriter, r *http.Request) {
		_ = paywall.MeterFrom(r.Context()).Add(3500)
		_, _ = io.WriteString(rw, "sunny")
		flush(rw)
	}
}

// TestRefusalThatPassesDoesNotEndTheSettlement checks what a payer can do and undo while the
// gate settles: allowance, balance.
func TestRefusalThatPassesDoesNotEndTheSettlement(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"permit2_allowance_required", "insufficient_funds", "invalid_exact_evm_transaction_simulation_failed"} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			w, paid := meteredUpto(t, nil)
			w.streams()
			w.service.refusesToSettle(reason, 1)
			rec := w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 1, nil))
			require.Equal(t, http.StatusOK, rec.Code)
			require.Equal(t, x402.ReasonPending, receiptOf(t, rec.Result().Trailer.Get("Payment-Response")).ErrorReason)
			require.Eventually(t, func() bool { return len(paid()) == 1 }, shortTimeout, 10*time.Millisecond)
			require.Equal(t, []string{"upto 1 3500"}, w.service.ended())

			unsent, paid := meteredUpto(t, nil)
			unsent.service.refusesToSettle(reason, 1)
			rec = unsent.ask("PAYMENT-SIGNATURE", unsent.payUpto(unsent.gate, 1, nil))
			require.Equal(t, []any{http.StatusPaymentRequired, reason}, []any{rec.Code, body(t, rec)["code"]})
			require.NotContains(t, rec.Body.String(), "sunny")
			require.NoError(t, unsent.gate.Shutdown(t.Context()))
			require.Empty(t, paid())
			require.Empty(t, unsent.service.ended(), "what is not served is not settled later")
		})
	}
}

func TestWalletWhosePaymentsAreNotMadeIsStopped(t *testing.T) {
	t.Parallel()
	w, _ := meteredUpto(t, func(c *paywall.Config) { c.MaxUnserved = 3 })
	w.streams()
	w.service.refusesToSettle("permit2_invalid_nonce", 3)
	for i := range 3 {
		require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, i, nil)).Code)
	}
	ran := w.served.Load()
	verified := w.service.count("/v1/x402/verify")
	for _, from := range []string{payer, strings.ToLower(payer)} {
		rec := w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 10, func(_ *x402.Requirements, u *x402.Upto) { u.Authorization.From = from }))
		require.Equal(t, []any{http.StatusTooManyRequests, "rate_limit_exceeded"}, []any{rec.Code, body(t, rec)["code"]})
		require.Equal(t, "600", rec.Result().Header.Get("Retry-After"))
	}
	require.Equal(t, ran, w.served.Load())
	require.Equal(t, verified, w.service.count("/v1/x402/verify"), "nothing is reserved for it")
	other := w.payUpto(w.gate, 11, func(_ *x402.Requirements, u *x402.Upto) { u.Authorization.From = payTo })
	require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", other).Code)
	w.clock.Advance(paywall.UnservedWindow)
	require.Equal(t, http.StatusOK, w.ask("PAYMENT-SIGNATURE", w.payUpto(w.gate, 12, nil)).Code)
}
