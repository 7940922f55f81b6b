package paywall_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
)

// TestOldPaymentOpensNothingAfterARequestWasTurnedAway: the service remembers a
// payment longer than a gate does. If it turns a repeat away before it looks, the
// next repeat is not taken for the end of an undecided payment.
func TestOldPaymentOpensNothingAfterARequestWasTurnedAway(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*world) *paywall.Gate{
		"another instance": func(w *world) *paywall.Gate { return w.newGate(nil) },
		"the same gate, a day later": func(w *world) *paywall.Gate {
			w.clock.Advance(25 * time.Hour)
			return w.gate
		},
	} {
		for code, status := range map[string]int{"rate_limit_exceeded": http.StatusTooManyRequests, "idempotency_in_progress": http.StatusConflict} {
			t.Run(name+", "+code, func(t *testing.T) {
				t.Parallel()
				w := setup(t, nil)
				headers := []string{"X-Service-Mandate", w.service.mandate(nil).Reveal(), "Idempotency-Key", "mine"}
				require.Equal(t, http.StatusOK, w.through(w.gate, headers...).Code)
				gate := forget(w)
				w.service.bend(func(rw http.ResponseWriter, _ *http.Request, _ func()) bool {
					rw.Header().Set("Content-Type", "application/json")
					rw.WriteHeader(status)
					_, _ = rw.Write([]byte(`{"code":"` + code + `","message":"Later."}`))
					return true
				})
				require.NotEqual(t, http.StatusOK, w.through(gate, headers...).Code)
				w.service.bend(nil)
				require.Equal(t, http.StatusPaymentRequired, w.through(gate, headers...).Code)
				require.EqualValues(t, 1, w.served.Load())
			})
		}
	}
}
