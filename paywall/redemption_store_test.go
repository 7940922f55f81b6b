package paywall_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/paywall"
)

// openDB opens a database for redemptions, twice as two instances would.
func openDB(t *testing.T, kind string) *sql.DB {
	t.Helper()
	driver, source := "sqlite", "file:"+filepath.Join(t.TempDir(), "r.db")+"?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
	if kind == "postgres" {
		driver, source = "pgx", pgtest.Schema(t)
	}
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func openSQL(t *testing.T, db *sql.DB, c *clock) *paywall.SQL {
	t.Helper()
	s, err := paywall.NewSQL(paywall.SQLConfig{DB: db, Lease: 10 * time.Minute, Clock: c.Now})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, s.Migrate(t.Context()), "also where the table is there")
	}
	return s
}

// TestRedemptions is the contract of every store.
func TestRedemptions(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			open := func(c *clock) paywall.Redemptions { return paywall.NewMemory(paywall.MemoryConfig{Clock: c.Now}) }
			if kind != "memory" {
				db := openDB(t, kind)
				open = func(c *clock) paywall.Redemptions { return openSQL(t, db, c) }
			}
			keepsPromises(t, open)
			claimsOnce(t, open(newClock()))
			forgets(t, open)
			keepsRunningClaims(t, open)
			honorsPayments(t, open)
		})
	}
}

// keepsPromises holds a store against a model: what is served stays served, what
// is claimed is claimed once, and a payment that was noted is never lost before it
// is served.
func keepsPromises(t *testing.T, open func(c *clock) paywall.Redemptions) {
	t.Helper()
	c := newClock()
	store := open(c)
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		ctx := context.Background()
		known := map[string]*modelClaim{}
		until := c.Now().Add(time.Hour)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			key := rapid.SampledFrom([]string{fmt.Sprint("a", run), fmt.Sprint("b", run)}).Draw(t, "key")
			k := known[key]
			if k == nil {
				k = &modelClaim{}
				known[key] = k
			}
			switch rapid.SampledFrom([]string{"claim", "settled", "finish", "later"}).Draw(t, "step") {
			case "claim":
				seen, err := store.Peek(ctx, paywall.Claim{Key: key, Binding: "x", Until: until})
				require.NoError(t, err)
				got, err := store.Claim(ctx, paywall.Claim{Key: key, Binding: "x", Until: until})
				require.NoError(t, err)
				want := k.state()
				require.Equal(t, want, got.State)
				require.Equal(t, got, seen, "a look at it says what a claim does")
				if want == paywall.ClaimPaid {
					require.Equal(t, "tx", got.Payment.Transaction)
				}
				k.claimed = k.claimed || want <= paywall.ClaimPaid
				other, err := store.Claim(ctx, paywall.Claim{Key: key, Binding: "y", Until: until})
				require.NoError(t, err)
				require.Equal(t, map[bool]paywall.ClaimState{true: paywall.ClaimBusy, false: paywall.ClaimBoundElsewhere}[k.claimed], other.State)
			case "settled":
				err := store.Settled(ctx, key, paywall.Payment{Transaction: "tx"})
				require.Equal(t, k.claimed, err == nil)
				k.paid = k.paid || k.claimed
			case "finish":
				end := rapid.SampledFrom([]paywall.End{paywall.EndRefused, paywall.EndUndecided, paywall.EndUnserved, paywall.EndServed}).Draw(t, "end")
				if end == paywall.EndUnserved && !k.paid {
					continue
				}
				err := store.Finish(ctx, key, end)
				require.Equal(t, k.claimed, err == nil)
				if !k.claimed {
					continue
				}
				switch end {
				case paywall.EndRefused:
					*k = modelClaim{}
				case paywall.EndUndecided:
					k.claimed, k.unsure = false, true
				case paywall.EndUnserved:
					k.claimed = false
				case paywall.EndServed:
					k.claimed, k.served = false, true
				}
			case "later":
				c.Advance(10 * time.Second)
				if c.Now().After(until) {
					return
				}
			}
		}
	})
}

// modelClaim is what must be known of a key.
type modelClaim struct{ claimed, paid, served, unsure bool }

// state is what a claim must find.
func (k *modelClaim) state() paywall.ClaimState {
	switch {
	case k.claimed:
		return paywall.ClaimBusy
	case k.served:
		return paywall.ClaimServed
	case k.paid:
		return paywall.ClaimPaid
	case k.unsure:
		return paywall.ClaimUndecided
	}
	return paywall.ClaimFresh
}

// claimsOnce: of many at once one gets the claim.
func claimsOnce(t *testing.T, store paywall.Redemptions) {
	t.Helper()
	var all sync.WaitGroup
	states := make(chan paywall.ClaimState, 30)
	for range cap(states) {
		all.Go(func() {
			got, err := store.Claim(t.Context(), paywall.Claim{Key: "all at once", Binding: "x", Until: newClock().Now().Add(time.Hour)})
			require.NoError(t, err)
			states <- got.State
		})
	}
	all.Wait()
	close(states)
	seen := map[paywall.ClaimState]int{}
	for s := range states {
		seen[s]++
	}
	require.Equal(t, map[paywall.ClaimState]int{paywall.ClaimFresh: 1, paywall.ClaimBusy: cap(states) - 1}, seen)
}

// forgets: what cannot be used any more is as if it had never been.
func forgets(t *testing.T, open func(c *clock) paywall.Redemptions) {
	t.Helper()
	c := newClock()
	store := open(c)
	claim := paywall.Claim{Key: "forgotten", Binding: "x", Until: c.Now().Add(time.Minute)}
	take := func(want paywall.ClaimState) {
		t.Helper()
		got, err := store.Claim(t.Context(), claim)
		require.NoError(t, err)
		require.Equal(t, want, got.State)
	}
	take(paywall.ClaimFresh)
	require.NoError(t, store.Finish(t.Context(), claim.Key, paywall.EndServed))
	c.Advance(time.Minute)
	take(paywall.ClaimServed)
	c.Advance(time.Second)
	claim.Binding, claim.Until = "y", c.Now().Add(time.Minute)
	take(paywall.ClaimFresh)
}

// keepsRunningClaims: a claim is not forgotten while its request runs, though its
// window is over.
func keepsRunningClaims(t *testing.T, open func(c *clock) paywall.Redemptions) {
	t.Helper()
	c := newClock()
	store := open(c)
	claim := paywall.Claim{Key: "running", Binding: "x", Until: c.Now().Add(time.Minute)}
	got, err := store.Claim(t.Context(), claim)
	require.NoError(t, err)
	require.Equal(t, paywall.ClaimFresh, got.State)
	c.Advance(2 * time.Minute)
	for _, ask := range []func(context.Context, paywall.Claim) (paywall.Claimed, error){store.Peek, store.Claim} {
		got, err = ask(t.Context(), claim)
		require.NoError(t, err)
		require.Equal(t, paywall.ClaimBusy, got.State)
	}
	require.NoError(t, store.Settled(t.Context(), claim.Key, paywall.Payment{Transaction: "tx"}))
	require.NoError(t, store.Finish(t.Context(), claim.Key, paywall.EndUnserved))
	got, err = store.Claim(t.Context(), claim)
	require.NoError(t, err)
	require.Equal(t, paywall.ClaimPaid, got.State)
}

// honorsPayments: what was paid, or may have been, is kept for a day, and no longer
// than its window once it is served.
func honorsPayments(t *testing.T, open func(c *clock) paywall.Redemptions) {
	t.Helper()
	for end, want := range map[paywall.End]paywall.ClaimState{paywall.EndUnserved: paywall.ClaimPaid, paywall.EndUndecided: paywall.ClaimUndecided} {
		c := newClock()
		store := open(c)
		claim := paywall.Claim{Key: fmt.Sprint("honored", end), Binding: "x", Until: c.Now().Add(time.Minute)}
		peek := func(want paywall.ClaimState) {
			t.Helper()
			got, err := store.Peek(t.Context(), claim)
			require.NoError(t, err)
			require.Equal(t, want, got.State)
		}
		peek(paywall.ClaimFresh)
		_, err := store.Claim(t.Context(), claim)
		require.NoError(t, err)
		if want == paywall.ClaimPaid {
			require.NoError(t, store.Settled(t.Context(), claim.Key, paywall.Payment{Transaction: "tx"}))
		}
		require.NoError(t, store.Finish(t.Context(), claim.Key, end))
		c.Advance(paywall.HonoredFor)
		peek(want)
		got, err := store.Claim(t.Context(), claim)
		require.NoError(t, err)
		require.Equal(t, want, got.State)
		require.NoError(t, store.Finish(t.Context(), claim.Key, paywall.EndServed))
		peek(paywall.ClaimFresh)
	}
}

// TestRenewedClaimIsNotTakenOver: however long its handler runs.
func TestRenewedClaimIsNotTakenOver(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, c, db := t.Context(), newClock(), openDB(t, kind)
			slow, other := openSQL(t, db, c), openSQL(t, db, c)
			claim := paywall.Claim{Key: "slow", Binding: "x", Until: c.Now().Add(time.Minute)}
			got, err := slow.Claim(ctx, claim)
			require.NoError(t, err)
			require.Equal(t, paywall.ClaimFresh, got.State)
			require.Less(t, slow.RenewEvery(), 10*time.Minute/2, "in time, though one renewal fails")
			for range 10 {
				c.Advance(9 * time.Minute)
				require.NoError(t, slow.Renew(ctx, "slow"))
				got, err = other.Claim(ctx, claim)
				require.NoError(t, err)
				require.Equal(t, paywall.ClaimBusy, got.State)
			}
			c.Advance(10*time.Minute + time.Second)
			got, err = other.Claim(ctx, claim)
			require.NoError(t, err)
			require.NotEqual(t, paywall.ClaimBusy, got.State)
			require.ErrorContains(t, slow.Renew(ctx, "slow"), "taken it over")
			require.Error(t, slow.Renew(ctx, "never claimed"))
		})
	}
}

// leased is a store with leases that reports each renewal.
type leased struct {
	paywall.Redemptions
	renewed chan string
}

func (l leased) Renew(ctx context.Context, key string) error {
	select {
	case l.renewed <- key:
	case <-ctx.Done():
	}
	return nil
}

func (leased) RenewEvery() time.Duration { return time.Millisecond }

// TestLeaseIsRenewedWhileTheHandlerRuns: and not after it.
func TestLeaseIsRenewedWhileTheHandlerRuns(t *testing.T) {
	t.Parallel()
	store := leased{paywall.NewMemory(paywall.MemoryConfig{}), make(chan string)}
	w := setup(t, func(c *paywall.Config) { c.Redemptions = store })
	var keys []string
	w.handler = func(rw http.ResponseWriter, _ *http.Request) {
		for range 3 {
			keys = append(keys, <-store.renewed)
		}
		_, _ = io.WriteString(rw, "sunny")
	}
	require.Equal(t, 200, w.ask("X-PAYMENT", w.payX402V1(w.gate, nil)).Code)
	require.Len(t, keys, 3)
	require.Equal(t, keys[0], keys[2])
	select {
	case key := <-store.renewed:
		t.Fatal("renewed after the request ended", key)
	default: // the goroutine has ended: goleak checks that too
	}
}

// TestClaimOfAnInstanceThatEndedIsTakenOver: when its lease is over, and not
// before; and an instance that was only slow changes nothing any more.
func TestClaimOfAnInstanceThatEndedIsTakenOver(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, c, db := t.Context(), newClock(), openDB(t, kind)
			gone, other := openSQL(t, db, c), openSQL(t, db, c)
			paid := paywall.Payment{Credential: paywall.CredentialX402, Transaction: transaction(1), AmountMicros: 10_000}
			claim := func(s *paywall.SQL, key string) paywall.Claimed {
				t.Helper()
				got, err := s.Claim(ctx, paywall.Claim{Key: key, Binding: "x", Until: newClock().Now().Add(time.Hour)})
				require.NoError(t, err)
				return got
			}
			for _, key := range []string{"not settled", "settled"} {
				require.Equal(t, paywall.ClaimFresh, claim(gone, key).State)
			}
			require.NoError(t, gone.Settled(ctx, "settled", paid))
			require.Equal(t, paywall.ClaimBusy, claim(other, "settled").State)
			c.Advance(10*time.Minute + time.Second)
			require.Equal(t, paywall.ClaimBusy, claim(gone, "settled").State, "an instance takes nothing over from itself")
			require.Equal(t, paywall.Claimed{State: paywall.ClaimPaid, Payment: paid}, claim(other, "settled"))
			require.Equal(t, paywall.ClaimUndecided, claim(other, "not settled").State, "it may have been settled")

			require.ErrorContains(t, gone.Settled(ctx, "not settled", paid), "taken it over")
			require.ErrorContains(t, gone.Finish(ctx, "settled", paywall.EndRefused), "taken it over")
			require.NoError(t, other.Finish(ctx, "settled", paywall.EndServed))
			require.NoError(t, other.Finish(ctx, "not settled", paywall.EndRefused))
			require.Equal(t, paywall.ClaimServed, claim(gone, "settled").State)
			require.Equal(t, paywall.ClaimBusy, claim(gone, "not settled").State, "its own request has not ended")
			require.ErrorContains(t, gone.Finish(ctx, "not settled", paywall.EndRefused), "taken it over")
			require.Equal(t, paywall.ClaimFresh, claim(gone, "not settled").State)
		})
	}
}

// TestClaimOfAGateThatDiedIsKeptForADay: its settlement may have been made, however
// short the window of the credential was.
func TestClaimOfAGateThatDiedIsKeptForADay(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			ctx, c := t.Context(), newClock()
			claim := paywall.Claim{Key: "died", Binding: "x", Until: c.Now().Add(time.Minute)}
			memory := paywall.Redemptions(paywall.NewMemory(paywall.MemoryConfig{Clock: c.Now}))
			open := func() paywall.Redemptions { return memory } // has no claim that outlives its request
			if kind != "memory" {
				db := openDB(t, kind)
				open = func() paywall.Redemptions { return openSQL(t, db, c) }
			}
			dead, other := open(), open()
			die := func() {
				if kind == "memory" {
					require.NoError(t, other.Finish(ctx, claim.Key, paywall.EndUndecided))
				}
				other = open()
			}
			take := func(store paywall.Redemptions, claim paywall.Claim, want paywall.ClaimState) {
				t.Helper()
				for _, ask := range []func(context.Context, paywall.Claim) (paywall.Claimed, error){store.Peek, store.Claim} {
					got, err := ask(ctx, claim)
					require.NoError(t, err)
					require.Equal(t, want, got.State)
				}
			}
			sweep := func() { // a claim of another key deletes rows that can be forgotten
				key := fmt.Sprint("sweep", c.Now())
				take(other, paywall.Claim{Key: key, Binding: "x", Until: c.Now()}, paywall.ClaimFresh)
				require.NoError(t, other.Finish(ctx, key, paywall.EndRefused))
			}
			take(dead, claim, paywall.ClaimFresh)
			c.Advance(16 * time.Minute)
			sweep()
			die()
			take(other, claim, paywall.ClaimUndecided)
			die()
			c.Advance(23*time.Hour + 50*time.Minute)
			sweep()
			take(other, claim, paywall.ClaimUndecided)
			require.NoError(t, other.Finish(ctx, claim.Key, paywall.EndServed))
			sweep()
			take(other, claim, paywall.ClaimFresh) // it is served, and its window is over
		})
	}
}

// TestInstancesMigrateAtOnce: none of them fails because of another.
func TestInstancesMigrateAtOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		db := openDB(t, kind)
		s, err := paywall.NewSQL(paywall.SQLConfig{DB: db})
		require.NoError(t, err)
		failed := make(chan error, 16)
		for range cap(failed) {
			go func() { failed <- s.Migrate(context.WithoutCancel(t.Context())) }()
		}
		for range cap(failed) {
			require.NoError(t, <-failed, kind)
		}
	}
}

// TestGatesShareADatabase: what one gate left unfulfilled another opens, once.
func TestGatesShareADatabase(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db := openDB(t, kind)
			each(t, func(c *paywall.Config) { c.Redemptions = openSQL(t, db, newClock()) }, func(t *testing.T, w *world, c credential) {
				paid := c.pay(w, w.gate)
				other := w.newGate(func(c *paywall.Config) { c.Redemptions = openSQL(t, db, newClock()) })
				w.handler = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }
				require.Equal(t, 500, w.ask(c.header, paid).Code)
				w.handler = func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "sunny") }
				require.Equal(t, 200, w.through(other, c.header, paid).Code)
				require.Equal(t, 402, w.ask(c.header, paid).Code)
				require.Equal(t, 1, w.service.moved())
			})
		})
	}
}

func TestSQLConfigIsChecked(t *testing.T) {
	t.Parallel()
	_, err := paywall.NewSQL(paywall.SQLConfig{})
	require.ErrorContains(t, err, "SQLConfig.DB")
	_, err = paywall.NewSQL(paywall.SQLConfig{DB: openDB(t, "sqlite"), Lease: -1})
	require.ErrorContains(t, err, "SQLConfig.Lease")
}
