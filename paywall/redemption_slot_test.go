package paywall_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/paywall"
)

// TestUnfinishedPaymentsOfASlotAreFound is the contract of [paywall.Redemptions] for bare
// mandates.
func TestUnfinishedPaymentsOfASlotAreFound(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, c := t.Context(), newClock()
			var store paywall.Redemptions = paywall.NewMemory(paywall.MemoryConfig{Clock: c.Now})
			if kind != "memory" {
				store = openSQL(t, openDB(t, kind), c)
			}
			finds := func(want string) {
				t.Helper()
				got, err := store.Unfinished(ctx, "slot")
				require.NoError(t, err)
				require.Equal(t, want, got)
			}
			claim := func(key, slot string) {
				t.Helper()
				got, err := store.Claim(ctx, paywall.Claim{Key: key, Binding: "x", Until: c.Now().Add(time.Minute), Slot: slot, Repeat: "repeat " + key})
				require.NoError(t, err)
				require.LessOrEqual(t, got.State, paywall.ClaimPaid)
			}
			end := func(key string, end paywall.End) {
				t.Helper()
				require.NoError(t, store.Finish(ctx, key, end))
			}
			finds("")
			claim("a", "slot")
			claim("other", "other slot")
			claim("none", "")
			for _, key := range []string{"other", "none"} {
				end(key, paywall.EndUndecided)
			}
			finds("") // a request holds a
			end("a", paywall.EndUndecided)
			finds("repeat a")
			c.Advance(time.Minute)
			claim("b", "slot")
			require.NoError(t, store.Settled(ctx, "b", paywall.Payment{Transaction: "tx"}))
			end("b", paywall.EndUnserved)
			finds("repeat a") // the oldest
			claim("a", "")    // a client that names the key
			finds("repeat b")
			end("a", paywall.EndServed)
			for payment, want := range map[*paywall.Payment]string{
				{Transaction: "tx", Refunding: true}: "", {Transaction: "tx", Decided: true}: "", {Transaction: "tx"}: "repeat b",
			} {
				claim("b", "slot")
				require.NoError(t, store.Settled(ctx, "b", *payment))
				end("b", paywall.EndUnserved)
				finds(want)
			}
			claim("b", "slot")
			require.NoError(t, store.Settled(ctx, "b", paywall.Payment{Transaction: "tx"}))
			end("b", paywall.EndUnserved)
			finds("repeat b")
			c.Advance(2*paywall.HonoredFor + time.Second)
			finds("")
		})
	}
}

// TestUnservedPaymentIsUsedAfterARestart: the process is killed while the handler runs, so
// nothing but the claim is stored.
func TestUnservedPaymentIsUsedAfterARestart(t *testing.T) {
	t.Parallel()
	db := openDB(t, "sqlite")
	change := func(c *paywall.Config) {
		s, err := paywall.NewSQL(paywall.SQLConfig{DB: db, Lease: time.Minute, Clock: c.Clock})
		require.NoError(t, err)
		require.NoError(t, s.Migrate(t.Context()))
		c.Redemptions = s
	}
	w := setup(t, change)
	token := w.service.mandate(nil).Reveal()
	var runs atomic.Int64
	killed, ended := make(chan struct{}), make(chan struct{})
	w.handler = func(rw http.ResponseWriter, r *http.Request) {
		if runs.Add(1) == 1 {
			<-killed
		}
		sunny(rw, r)
	}
	go func() {
		defer close(ended)
		w.ask("X-Service-Mandate", token)
	}()
	defer func() {
		close(killed)
		<-ended
	}()
	require.Eventually(t, func() bool { return runs.Load() == 1 }, 10*time.Second, time.Millisecond)
	require.Equal(t, 200, w.through(w.newGate(change), "X-Service-Mandate", token).Code, "while it runs, another request is another purchase")
	require.Equal(t, 2, w.service.moved())
	w.clock.Advance(2 * time.Minute) // the lease of the dead process has ended
	require.Equal(t, 200, w.through(w.newGate(change), "X-Service-Mandate", token).Code)
	require.Equal(t, 2, w.service.moved())
}

// TestFailedHandlerNamesTheKeyOfItsPayment, so that the client can repeat the request anywhere.
func TestFailedHandlerNamesTheKeyOfItsPayment(t *testing.T) {
	t.Parallel()
	w := setup(t, nil)
	token := w.service.mandate(nil).Reveal()
	w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusBadGateway) }
	key := w.ask("X-Service-Mandate", token).Header().Get("Idempotency-Key")
	require.NotEmpty(t, key)
	w.handler = sunny
	served := w.ask("X-Service-Mandate", token, "Idempotency-Key", key)
	require.Equal(t, 200, served.Code)
	require.Empty(t, served.Header().Get("Idempotency-Key"))
	require.Equal(t, 1, w.service.moved())
}

// TestMigrateAddsTheColumnsOfSlots to a table of an earlier version, which keeps its rows.
func TestMigrateAddsTheColumnsOfSlots(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db, c := openDB(t, kind), newClock()
			for _, statement := range []string{
				`CREATE TABLE paywall_redemptions (id TEXT PRIMARY KEY, binding TEXT NOT NULL, state BIGINT NOT NULL CHECK (state BETWEEN 1 AND 4),
	owner TEXT NOT NULL, lease_until BIGINT NOT NULL, forget_after BIGINT NOT NULL, payment TEXT NOT NULL)`,
				"INSERT INTO paywall_redemptions VALUES ('old', '', 4, '', 0, 9000000000000, '')",
			} {
				_, err := db.ExecContext(t.Context(), statement)
				require.NoError(t, err)
			}
			store := openSQL(t, db, c)
			_, err := store.Claim(t.Context(), paywall.Claim{Key: "a", Slot: "slot", Repeat: "repeat", Until: c.Now()})
			require.NoError(t, err)
			require.NoError(t, store.Finish(t.Context(), "a", paywall.EndUndecided))
			got, err := store.Unfinished(t.Context(), "slot")
			require.NoError(t, err)
			require.Equal(t, "repeat", got)
			var rows int
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM paywall_redemptions").Scan(&rows))
			require.Equal(t, 2, rows)
		})
	}
}
