package journal_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/paywarrant/paywarrant/agent"
	"github.com/paywarrant/paywarrant/agent/journal"
	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/internal/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kind opens a journal of one kind, as a process does; end ends that process.
type kind struct {
	open   func(t *testing.T) (j agent.Journal, end func())
	shared bool // several processes at a time
}

func kinds(t *testing.T) map[string]kind {
	t.Helper()
	path := filepath.Join(t.TempDir(), "purchases.journal")
	return map[string]kind{
		"file": {open: func(t *testing.T) (agent.Journal, func()) {
			t.Helper()
			f, err := journal.OpenFile(path)
			require.NoError(t, err)
			t.Cleanup(func() { _ = f.Close() })
			return f, func() { require.NoError(t, f.Close()) }
		}},
		"sqlite":   {open: openSQL(openDB(t, "sqlite")), shared: true},
		"postgres": {open: openSQL(openDB(t, "postgres")), shared: true},
	}
}

func openDB(t *testing.T, engine string) *sql.DB {
	t.Helper()
	driver, source := "sqlite", "file:"+filepath.Join(t.TempDir(), "j.db")+"?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
	if engine == "postgres" {
		driver, source = "pgx", pgtest.Schema(t)
	}
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// openSQL opens journals whose earlier processes are always taken to have ended an hour ago.
func openSQL(db *sql.DB) func(*testing.T) (agent.Journal, func()) {
	var hours atomic.Int64
	return func(t *testing.T) (agent.Journal, func()) {
		t.Helper()
		s, err := journal.NewSQL(journal.SQLConfig{DB: db, Agent: "shopper", Clock: func() time.Time {
			return time.Now().Add(time.Duration(hours.Load()) * time.Hour)
		}})
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, s.Migrate(t.Context()), "also if the tables exist")
		}
		return s, func() { hours.Add(1) }
	}
}

var purchases atomic.Int64

// entry is a purchase of a cent.
func entry(key, request string) agent.JournalEntry {
	now := time.Now()
	return agent.JournalEntry{
		ID: fmt.Sprintf("pur_%d", purchases.Add(1)), Key: key, Request: request, HTTPMethod: "POST", URL: "https://shop.example/order",
		Method: agent.X402, AmountMicros: 10_000, State: agent.PurchaseBegun, At: now, ForgetAfter: now.Add(48 * time.Hour),
	}
}

// sent is the same purchase with its credential.
func sent(e agent.JournalEntry) agent.JournalEntry {
	e.State, e.Credential, e.Until = agent.PurchaseSent, map[string]string{"PAYMENT-SIGNATURE": "secret"}, e.At.Add(24*time.Hour)
	return e
}

func TestJournal(t *testing.T) {
	t.Parallel()
	for name, contract := range map[string]func(*testing.T, kind){
		"a payment that was sent is found after a restart":  foundAfterRestart,
		"a purchase that was not sent costs nothing":        unsentCostsNothing,
		"a key has one purchase":                            keyHasOnePurchase,
		"limits survive a restart":                          limitsSurvive,
		"32 racing purchases stay within the budget":        racesStayWithinBudget,
		"a process that lost its purchase cannot record it": lostPurchaseIsNotRecorded,
		"lost, refused and delivered purchases are apart":   statesAreApart,
		"a funding purchase is kept, and then given back":   fundingIsKept,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for name, k := range kinds(t) {
				t.Run(name, func(t *testing.T) { t.Parallel(); contract(t, k) })
			}
		})
	}
}

func foundAfterRestart(t *testing.T, k kind) {
	j, end := k.open(t)
	ctx := t.Context()
	for _, e := range []agent.JournalEntry{entry("order 1", "r1"), entry("", "r2")} {
		require.NoError(t, j.Begin(ctx, e, agent.SpendingLimits{}))
		require.NoError(t, j.Record(ctx, sent(e), false))
	}
	_, err := j.Find(ctx, "order 1", "r1", time.Now())
	require.ErrorIs(t, err, agent.ErrPurchaseBusy)
	unfinished, err := j.Unfinished(ctx)
	require.NoError(t, err)
	require.Empty(t, unfinished, "they are held")

	end()
	j, _ = k.open(t)
	unfinished, err = j.Unfinished(ctx)
	require.NoError(t, err)
	require.Len(t, unfinished, 2)
	keyed, err := j.Find(ctx, "order 1", "another request", time.Now())
	require.NoError(t, err)
	require.Equal(t, []any{"r1", agent.PurchaseSent, "secret"}, []any{keyed.Request, keyed.State, keyed.Credential["PAYMENT-SIGNATURE"]})
	e, err := j.Find(ctx, "", "r1", time.Now())
	require.NoError(t, err)
	require.Nil(t, e, "a purchase with a key is found by its key alone")
	e, err = j.Find(ctx, "", "r2", time.Now().Add(25*time.Hour))
	require.NoError(t, err)
	require.Nil(t, e, "its credential is too old")
	e, err = j.Find(ctx, "", "r2", time.Now())
	require.NoError(t, err)
	require.Equal(t, "secret", e.Credential["PAYMENT-SIGNATURE"])
	again, err := j.Find(ctx, "", "r2", time.Now())
	require.NoError(t, err)
	require.Nil(t, again, "it is held")
	require.NotContains(t, fmt.Sprintf("%+v %#v %v", *e, *e, e), "secret")
}

func unsentCostsNothing(t *testing.T, k kind) {
	limits := agent.SpendingLimits{BudgetMicros: 10_000}
	j, end := k.open(t)
	e := entry("order 1", "r1")
	require.NoError(t, j.Begin(t.Context(), e, limits))
	require.ErrorIs(t, j.Begin(t.Context(), entry("", "r2"), limits), agent.ErrBudget)
	require.NoError(t, j.Forget(t.Context(), e.ID))
	require.NoError(t, j.Begin(t.Context(), entry("order 1", "r1"), limits))
	end()
	j, end = k.open(t)
	found, err := j.Find(t.Context(), "order 1", "r1", time.Now())
	require.NoError(t, err)
	require.Nil(t, found)
	require.NoError(t, j.Begin(t.Context(), entry("", "r2"), limits))
	end()
	j, _ = k.open(t)
	require.NoError(t, j.Begin(t.Context(), entry("", "r2"), limits), "without a Find as well")
}

func keyHasOnePurchase(t *testing.T, k kind) {
	j, _ := k.open(t)
	var won atomic.Int64
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			e := entry("order 1", "r1")
			if err := j.Begin(t.Context(), e, agent.SpendingLimits{}); err == nil {
				won.Add(1)
			} else {
				require.ErrorIs(t, err, agent.ErrPurchaseBusy)
			}
		})
	}
	all.Wait()
	require.Equal(t, int64(1), won.Load())
}

func limitsSurvive(t *testing.T, k kind) {
	limits := agent.SpendingLimits{BudgetMicros: 30_000, Velocity: []agent.VelocityLimit{{Window: time.Hour, MaxPayments: 2}}}
	for range 2 {
		j, end := k.open(t)
		e := entry("", "r")
		require.NoError(t, j.Begin(t.Context(), e, limits))
		e.State = agent.PurchaseRefused
		require.NoError(t, j.Record(t.Context(), e, true))
		end()
	}
	j, _ := k.open(t)
	require.ErrorIs(t, j.Begin(t.Context(), entry("", "r"), limits), agent.ErrVelocity)
	later := entry("", "r")
	later.At = later.At.Add(2 * time.Hour)
	require.NoError(t, j.Begin(t.Context(), later, limits))
	latest := entry("", "r")
	latest.At = latest.At.Add(4 * time.Hour)
	require.ErrorIs(t, j.Begin(t.Context(), latest, limits), agent.ErrBudget)
}

func racesStayWithinBudget(t *testing.T, k kind) {
	all := []agent.Journal{}
	j, _ := k.open(t)
	all = append(all, j)
	if k.shared {
		j, _ = k.open(t)
		all = append(all, j)
	}
	var won atomic.Int64
	var wait sync.WaitGroup
	for i := range 32 {
		wait.Go(func() {
			if all[i%len(all)].Begin(t.Context(), entry("", "r"), agent.SpendingLimits{BudgetMicros: 70_000}) == nil {
				won.Add(1)
			}
		})
	}
	wait.Wait()
	require.Equal(t, int64(7), won.Load())
}

func lostPurchaseIsNotRecorded(t *testing.T, k kind) {
	if !k.shared {
		t.Skip("one process at a time")
	}
	slow, end := k.open(t)
	e := entry("order 1", "r1")
	require.NoError(t, slow.Begin(t.Context(), e, agent.SpendingLimits{}))
	end() // its lease expires, and it goes on
	fast, _ := k.open(t)
	found, err := fast.Find(t.Context(), "order 1", "r1", time.Now())
	require.NoError(t, err)
	require.Nil(t, found)
	require.NoError(t, fast.Begin(t.Context(), entry("order 1", "r1"), agent.SpendingLimits{}))
	require.ErrorContains(t, slow.Record(t.Context(), sent(e), false), "not held")
}

func statesAreApart(t *testing.T, k kind) {
	j, _ := k.open(t)
	for _, state := range []agent.PurchaseState{
		agent.PurchaseSent, agent.PurchasePaid, agent.PurchaseAnswered, agent.PurchaseLost, agent.PurchaseDelivered, agent.PurchaseRefused,
	} {
		e := sent(entry("", string(state)))
		require.NoError(t, j.Begin(t.Context(), e, agent.SpendingLimits{}))
		e.State = state
		require.NoError(t, j.Record(t.Context(), e, true))
		found, err := j.Find(t.Context(), "", string(state), time.Now())
		require.NoError(t, err)
		require.Equal(t, state.Finished(), found == nil, state)
	}
}

func fundingIsKept(t *testing.T, k kind) {
	limits := agent.SpendingLimits{BudgetMicros: 10_000}
	j, end := k.open(t)
	for _, key := range []string{"order 1", ""} {
		e := entry(key, "r1")
		e.ForgetAfter = e.At.Add(90 * time.Minute)
		require.NoError(t, j.Begin(t.Context(), e, agent.SpendingLimits{}))
		e.State, e.Until, e.Funding = agent.PurchaseFunding, e.At.Add(24*time.Hour), &client.CredentialParams{IdempotencyKey: "funding"}
		require.NoError(t, j.Record(t.Context(), e, false))
	}
	end()
	j, end = k.open(t)
	require.ErrorIs(t, j.Begin(t.Context(), entry("", "r2"), limits), agent.ErrBudget)
	left, err := j.Unfinished(t.Context())
	require.NoError(t, err)
	require.Len(t, left, 2)
	for _, key := range []string{"order 1", ""} {
		found, err := j.Find(t.Context(), key, "r1", time.Now())
		require.NoError(t, err)
		require.Equal(t, []any{key, agent.PurchaseFunding, "funding"}, []any{found.Key, found.State, found.Funding.IdempotencyKey})
	}
	end()
	j, _ = k.open(t)
	later := entry("", "r2")
	later.At = later.At.Add(3 * time.Hour)
	require.NoError(t, j.Begin(t.Context(), later, limits), "its amount is given back")
}

func TestFileWithATornLastLineIsOpened(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	f, err := journal.OpenFile(path)
	require.NoError(t, err)
	e := entry("order 1", "r1")
	require.NoError(t, f.Begin(t.Context(), e, agent.SpendingLimits{}))
	require.NoError(t, f.Record(t.Context(), sent(e), false))
	require.NoError(t, f.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for cut := range len(whole) {
		require.NoError(t, os.WriteFile(path, whole[:cut], 0o600))
		f, err := journal.OpenFile(path)
		require.NoError(t, err, cut)
		require.NoError(t, f.Begin(t.Context(), entry("", "r2"), agent.SpendingLimits{BudgetMicros: 20_000}), cut)
		require.NoError(t, f.Close())
		f, err = journal.OpenFile(path)
		require.NoError(t, err, cut)
		require.NoError(t, f.Close())
	}
	lines := append([]byte("{not a line\n"), whole...)
	require.NoError(t, os.WriteFile(path, lines, 0o600))
	_, err = journal.OpenFile(path)
	require.ErrorContains(t, err, "line 1 is malformed")
	require.NotContains(t, err.Error(), "secret")
}

func TestFileIsPrivateAndLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	require.NoError(t, os.WriteFile(path, nil, 0o644))
	f, err := journal.OpenFile(path)
	require.NoError(t, err)
	for _, name := range []string{path, path + ".lock"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	_, err = journal.OpenFile(path)
	require.ErrorIs(t, err, journal.ErrLocked)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	require.ErrorIs(t, f.Begin(t.Context(), entry("", "r"), agent.SpendingLimits{}), os.ErrClosed)
	f, err = journal.OpenFile(path)
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

func TestFileIsRewrittenAndKeepsTheBudget(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "j")
	f, err := journal.OpenFile(path)
	require.NoError(t, err)
	const n = 600
	limits := agent.SpendingLimits{BudgetMicros: (n + 1) * 10_000}
	for i := range n {
		e := entry("", "r")
		e.At = e.At.Add(time.Duration(i) * time.Hour)
		e.ForgetAfter = e.At.Add(48 * time.Hour)
		require.NoError(t, f.Begin(t.Context(), e, limits))
		e.State = agent.PurchaseDelivered
		require.NoError(t, f.Record(t.Context(), e, true))
	}
	require.NoError(t, f.Close())
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(500_000))
	f, err = journal.OpenFile(path)
	require.NoError(t, err)
	require.NoError(t, f.Begin(t.Context(), entry("", "r"), limits))
	require.ErrorIs(t, f.Begin(t.Context(), entry("", "r"), limits), agent.ErrBudget)
	require.NoError(t, f.Close())
	info, err = os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestSQLConfigIsChecked(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]journal.SQLConfig{
		"SQLConfig.DB":    {Agent: "a"},
		"SQLConfig.Agent": {DB: &sql.DB{}},
		"SQLConfig.Lease": {DB: &sql.DB{}, Agent: "a", Lease: -1},
	} {
		_, err := journal.NewSQL(c)
		require.ErrorContains(t, err, want)
	}
}
