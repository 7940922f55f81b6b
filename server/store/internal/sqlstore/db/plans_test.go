package db_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore/db"
	"github.com/paywarrant/paywarrant/server/store/postgres"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

const (
	mandates, perMandate = 200, 100
	merchants            = 20
)

// fill gives a store many rows of each kind; a tenth of the charges is pending.
func fill(t *testing.T, s store.Store) {
	t.Helper()
	now := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	for i := range merchants {
		m := ledger.Merchant{ID: fmt.Sprint("mer_", i), PayTo: fmt.Sprint("0x", i), CreatedAt: now}
		require.NoError(t, s.PutMerchant(t.Context(), m))
		require.NoError(t, s.AddAPIKey(t.Context(), store.APIKey{Hash: m.ID, MerchantID: m.ID}))
	}
	for n := range mandates {
		e := rows(n, now)
		require.NoError(t, s.Update(t.Context(), ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
			return ledger.Effects{Insert: e}, nil
		}))
	}
}

// rows are one mandate with its charges.
func rows(n int, now time.Time) ledger.Rows {
	terms := ledger.Terms{MaxPerTx: 1, MaxMonthly: 1e12, ExpiresAt: now.Add(time.Duration(n) * time.Hour)}
	m := ledger.Mandate{
		ID: fmt.Sprintf("del_%04d", n), MerchantID: fmt.Sprint("mer_", n%merchants), Status: ledger.MandateActive, Terms: terms,
	}
	s := ledger.Session{Hash: m.ID, MerchantID: m.MerchantID, Status: ledger.SessionFailed, Terms: terms, CreatedAt: now}
	e := ledger.Rows{
		Mandates: []ledger.Mandate{m}, Sessions: []ledger.Session{s},
		Tallies: []ledger.Tally{{TallyKey: ledger.TallyKey{MandateID: m.ID, MerchantID: m.MerchantID}, Count: 1, Volume: 1}},
	}
	for i := range perMandate {
		c := ledger.Charge{
			ID: fmt.Sprintf("txn_%04d%04d", n, i), MandateID: m.ID, MerchantID: m.MerchantID, Amount: 1, CreatedAt: now,
			Status: ledger.ChargeSucceeded, SettledAt: now,
		}
		if i%10 == 0 {
			c.Status, c.SettledAt, c.LeaseUntil = ledger.ChargePending, time.Time{}, now.Add(time.Duration(n*i)*time.Second)
		}
		key := ledger.IdempotencyKey{MerchantID: c.MerchantID, Key: c.ID}
		e.Charges = append(e.Charges, c)
		e.Idempotency = append(e.Idempotency, ledger.Idempotency{
			IdempotencyKey: key, ChargeID: c.ID, CreatedAt: now.Add(time.Duration(n*perMandate+i) * time.Second),
		})
		e.Postings = append(e.Postings, ledger.Posting{ChargeID: c.ID, MandateID: m.ID, From: "a", To: "b", Amount: 1, At: now})
		e.Events = append(e.Events, ledger.Event{ID: "evt_" + c.ID, MandateID: m.ID, Seq: int64(i), MerchantID: c.MerchantID, CreatedAt: now})
	}
	return e
}

// values are for the parameters of a statement; its meaning does not matter to a plan.
func values(statement string) []any {
	var args []any
	for i := 1; strings.Contains(statement, fmt.Sprint("$", i)); i++ {
		switch {
		case strings.Contains(statement, fmt.Sprintf("(CAST($%d AS json))", i)):
			args = append(args, `[["mer_1"]]`)
		case regexp.MustCompile(fmt.Sprintf(`(?i)(LIMIT |_ms [<>]=? |seq > |place [<>] |CAST\()\$%d\b`, i)).MatchString(statement):
			args = append(args, 20)
		case regexp.MustCompile(fmt.Sprintf(`sealed_token = \$%d\b`, i)).MatchString(statement):
			args = append(args, []byte{})
		default:
			args = append(args, "mer_1")
		}
	}
	return args
}

// explain returns a statement's plan as text.
func explain(t *testing.T, pool *sql.DB, how, statement string) string {
	t.Helper()
	found, err := pool.QueryContext(t.Context(), how+statement, values(statement)...)
	require.NoError(t, err, statement)
	defer func() { require.NoError(t, found.Close()) }()
	columns, err := found.Columns()
	require.NoError(t, err)
	var plan strings.Builder
	for found.Next() {
		line := make([]any, len(columns))
		for i := range line {
			line[i] = new(any)
		}
		require.NoError(t, found.Scan(line...))
		fmt.Fprintln(&plan, *line[len(line)-1].(*any))
	}
	require.NoError(t, found.Err())
	return plan.String()
}

// TestNoStatementReadsAWholeTable: each finds its rows by an index.
func TestNoStatementReadsAWholeTable(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "pay.db")
		store, err := sqlite.Open(t.Context(), path)
		require.NoError(t, err)
		fill(t, store)
		require.NoError(t, store.Close())
		pool, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		defer func() { require.NoError(t, pool.Close()) }()
		for name, statement := range db.Reads {
			plan := explain(t, pool, "EXPLAIN QUERY PLAN ", statement)
			require.NotRegexp(t, `(?m)SCAN \w+\s*$`, plan, name)
			if name != "sealed keys" && name != "API keys" { // a handful, by age
				require.NotContains(t, plan, "TEMP B-TREE", name+": "+plan)
			}
		}
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		url := pgtest.Schema(t)
		store, err := postgres.Open(t.Context(), url)
		require.NoError(t, err)
		fill(t, store)
		require.NoError(t, store.Close())
		pool, err := sql.Open("pgx", url+"&enable_seqscan=off") // so that small tables are read by their index, if they have one
		require.NoError(t, err)
		defer func() { require.NoError(t, pool.Close()) }()
		_, err = pool.ExecContext(context.Background(), "ANALYZE")
		require.NoError(t, err)
		for name, statement := range db.Reads {
			plan := explain(t, pool, "EXPLAIN ", strings.ReplaceAll(statement, "json_each($1)", "json_array_elements(CAST($1 AS json))"))
			require.NotContains(t, plan, "Seq Scan", name+": "+plan)
			if name == "list" || name == "lapsed" {
				require.NotContains(t, plan, "Sort", "the index has the order of "+name+": "+plan)
			}
		}
	})
}
