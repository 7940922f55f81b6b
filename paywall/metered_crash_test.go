package paywall_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
)

// dying is a store whose process dies before a claim ends, and before a decision if it stays
// undecided.
type dying struct {
	*paywall.SQL

	undecided bool
}

func (d *dying) Settled(ctx context.Context, key string, p paywall.Payment) error {
	if p.Decided && d.undecided {
		return nil
	}
	return d.SQL.Settled(ctx, key, p)
}

func (*dying) Finish(context.Context, string, paywall.End) error { return nil }

// TestHoldOfAGateThatDiedIsCapturedOnce: another gate with the same store meets its credential.
func TestHoldOfAGateThatDiedIsCapturedOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		hours    int // until the second gate
		captures []string
		status   int
		served   int64
	}{
		"in the handler":               {0, []string{"capture txn_1 20"}, 200, 2},
		"in the handler, hold expired": {2, nil, 402, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _ := metered(t, nil)
			db := openDB(t, "sqlite")
			w.loseCaptures(true)
			amount := int64(10)
			w.handler = func(_ http.ResponseWriter, r *http.Request) { _ = paywall.MeterFrom(r.Context()).Add(amount) }
			token := w.service.mandate(nil).Reveal()
			w.dies(&dying{SQL: openSQL(t, db, w.clock), undecided: true}, token)
			w.loseCaptures(false)
			amount = 20
			w.clock.Advance(11*time.Minute + time.Duration(tc.hours)*time.Hour)
			again := w.through(w.meteredGate(openSQL(t, db, w.clock)), "X-Service-Mandate", token, "Idempotency-Key", "one")
			require.Equal(t, tc.status, again.Code, again.Body.String())
			require.Equal(t, tc.captures, append([]string(nil), w.service.ended()...))
			require.Equal(t, tc.served, w.served.Load())
		})
	}
}

// TestDecisionOfAGateThatDiedStands: what it had metered is captured, and nothing is served.
func TestDecisionOfAGateThatDiedStands(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{true, false} {
		w, _ := metered(t, nil)
		db := openDB(t, "sqlite")
		w.loseCaptures(lost)
		w.handler = func(_ http.ResponseWriter, r *http.Request) { _ = paywall.MeterFrom(r.Context()).Add(10) }
		token := w.service.mandate(nil).Reveal()
		w.dies(&dying{SQL: openSQL(t, db, w.clock)}, token)
		w.loseCaptures(false)
		w.clock.Advance(11 * time.Minute)
		again := w.through(w.meteredGate(openSQL(t, db, w.clock)), "X-Service-Mandate", token, "Idempotency-Key", "one")
		require.Equal(t, http.StatusPaymentRequired, again.Code)
		require.Equal(t, "already_redeemed", body(t, again)["code"])
		require.Equal(t, []string{"capture txn_1 10"}, w.service.ended())
		require.EqualValues(t, 1, w.served.Load())
	}
}

// loseCaptures makes captures fail before they reach the service.
func (w *world) loseCaptures(lost bool) {
	w.service.bend(func(rw http.ResponseWriter, r *http.Request, _ func()) bool {
		if lost && strings.HasSuffix(r.URL.Path, "/capture") {
			http.Error(rw, "down", http.StatusBadGateway)
			return true
		}
		return false
	})
}

// dies sends a request through a gate with a store that dies, and stops the gate.
func (w *world) dies(store paywall.Redemptions, token string) {
	w.t.Helper()
	g := w.meteredGate(store)
	w.through(g, "X-Service-Mandate", token, "Idempotency-Key", "one")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = g.Shutdown(ctx)
}

// meteredGate returns a metered gate with a store.
func (w *world) meteredGate(store paywall.Redemptions) *paywall.Gate {
	w.t.Helper()
	return w.newGate(func(c *paywall.Config) {
		c.Price, c.Metered, c.Redemptions = "0.10", true, store
		c.Merchant = paywall.Merchant{ID: "mer_1", APIKey: "sk_test_1"}
	})
}
