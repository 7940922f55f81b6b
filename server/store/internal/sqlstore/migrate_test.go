package sqlstore_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/store/internal/sqlstore"
)

// migrations are the files, in the words of SQLite or of PostgreSQL.
func migrations(t *testing.T, words *strings.Replacer) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	paths, err := filepath.Glob("migrations/*.sql")
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		files[filepath.Base(path)] = &fstest.MapFile{Data: []byte(words.Replace(string(text)))}
	}
	return files
}

// TestTheOutboxGetsItsPlaces: what was not relayed before the seventh migration is at
// the ends of the streams after it, the events of a mandate in order.
func TestTheOutboxGetsItsPlaces(t *testing.T) {
	t.Parallel()
	onBoth(t, outboxGetsItsPlaces)
}

func outboxGetsItsPlaces(t *testing.T, pool *sql.DB, dialect goose.Dialect, words *strings.Replacer) {
	t.Helper()
	ctx := context.Background()
	provider, err := goose.NewProvider(dialect, pool, migrations(t, words))
	require.NoError(t, err)
	_, err = provider.UpTo(ctx, 6)
	require.NoError(t, err)
	_, err = pool.ExecContext(ctx, `INSERT INTO webhook_streams VALUES ('mer_a', 2)`)
	require.NoError(t, err)
	insert := func(id, mandate, merchant string, seq, at, relayed, place int) {
		_, err := pool.ExecContext(ctx, fmt.Sprintf(`INSERT INTO events (id, mandate_id, seq, merchant_id, type, data, created_ms, relayed, place)
VALUES ('%s', '%s', %d, '%s', 'payment.succeeded', '{}', %d, %d, %d)`, id, mandate, seq, merchant, at, relayed, place))
		require.NoError(t, err)
	}
	insert("evt_1", "del_1", "mer_a", 1, 1000, 1, 1)
	insert("evt_2", "del_2", "mer_a", 1, 1001, 1, 2)
	insert("evt_3", "del_1", "mer_a", 3, 900, 0, 0) // the clock went back
	insert("evt_4", "del_1", "mer_a", 2, 1002, 0, 0)
	insert("evt_5", "del_3", "mer_b", 1, 1003, 0, 0)
	_, err = provider.Up(ctx)
	require.NoError(t, err)
	found, err := pool.QueryContext(ctx, "SELECT e.id, e.place, s.place FROM events e JOIN webhook_streams s ON s.merchant_id = e.merchant_id ORDER BY e.id")
	require.NoError(t, err)
	defer func() { require.NoError(t, found.Close()) }()
	var got []string
	for found.Next() {
		var id string
		var place, end int
		require.NoError(t, found.Scan(&id, &place, &end))
		got = append(got, fmt.Sprint(id, " ", place, "/", end))
	}
	require.NoError(t, found.Err())
	require.Equal(t, []string{"evt_1 1/4", "evt_2 2/4", "evt_3 4/4", "evt_4 3/4", "evt_5 1/1"}, got)
}

// TestRowsOfEarlierVersionsAreMoved: keys get their kinds, and keep their meaning also if
// a merchant spelled one that looks like another kind; instruments and checkouts get their tables.
func TestRowsOfEarlierVersionsAreMoved(t *testing.T) {
	t.Parallel()
	onBoth(t, rowsAreMoved)
}

func rowsAreMoved(t *testing.T, pool *sql.DB, dialect goose.Dialect, words *strings.Replacer) {
	t.Helper()
	old, err := goose.NewProvider(dialect, pool, migrations(t, words))
	require.NoError(t, err)
	_, err = old.UpTo(t.Context(), 8)
	require.NoError(t, err)
	const checkout, forged = "chk_00000000012V5T9N3W6Y0ZB4CF", "chk_00000000012V5T9N3W6Y0ZB4CG"
	for _, statement := range []string{
		`INSERT INTO charges VALUES ('txn_1', 'del_1', 'mer_1', '', 500, 0, 'usd', '', '{}', '["fiatrail"]', 202611, 'succeeded', 'fiatrail', '', 'pay_1', '', 0, 0, 1, 1)`,
		`INSERT INTO charges VALUES ('txn_2', 'del_1', 'mer_1', '', 1, 0, 'usd', '', '{}', '["fiatrail"]', 202611, 'pending', '', '', '', '', 1, 0, 1, 0)`,
		`INSERT INTO idempotency VALUES ('mer_1', 'checkout:` + checkout + `', 'f', 'txn_1', '', 1)`,
		`INSERT INTO idempotency VALUES ('mer_1', 'checkout:` + forged + `', 'f', 'txn_2', '', 1)`,
		`INSERT INTO idempotency VALUES ('mer_1', 'plain', 'f', 'txn_2', '', 1)`,
		`INSERT INTO idempotency VALUES ('wallet:0x1', 'presentation:ab', 'f', '', '{"code":"per_tx"}', 1)`,
		`INSERT INTO mandates VALUES ('del_1', 'mer_1', 'active', '', 0, 5, 9, '[]', '[]', 1, 202611, 7, '[{"rail":"fiatrail","customer":"cus_1","method":"pm_1","lastFour":"4242"}]', '', 1, 7)`,
		`INSERT INTO mandates VALUES ('del_2', 'mer_1', 'revoked', 'user', 9, 1, 1, '[]', '[]', 1, 202611, 0, '[{"rail":"chainrail","customer":"0x1","method":"0x2"}]', '', 1, 8)`,
		`INSERT INTO tallies VALUES ('mer_1', 'del_1', 1, 500)`,
		`INSERT INTO sessions VALUES ('h1', 'mer_1', 'completed', '', 500, 500, '[]', '[]', 1, 'https://x', '{"checkout":"` + checkout + `","description":"d"}', 0, 'del_9', '', 1, 2)`,
		`INSERT INTO sessions VALUES ('h2', 'mer_1', 'pending', '', 500, 500, '[]', '[]', 1, '', '{"checkout":"` + forged + `","description":"d"}', 0, '', '', 1, 2)`,
		`INSERT INTO sessions VALUES ('h3', 'mer_1', 'pending', '', 500, 500, '[]', '[]', 1, '', '{"checkout":"other"}', 0, '', '', 1, 2)`,
	} {
		_, err := pool.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	require.NoError(t, sqlstore.Migrate(t.Context(), sqlstore.Engine{Dialect: dialect, Rewrite: words}, pool))
	for query, want := range map[string][]string{
		"SELECT kind || ' ' || key || ' ' || charge_id FROM idempotency ORDER BY kind, key": {
			"charge checkout:" + checkout + " txn_1", "charge checkout:" + forged + " txn_2", "charge plain txn_2", "charge presentation:ab ",
			"checkout " + checkout + " txn_1", "checkout " + forged + " txn_2", "presentation ab ",
		},
		"SELECT id || ' ' || attempt || ' ' || day FROM charges ORDER BY id": {"txn_1 1 20261100", "txn_2 2 20261100"},
		"SELECT mandate_id || ' ' || kind || ' ' || cap || ' ' || start_day || ' ' || used FROM windows ORDER BY 1": {
			"del_1 monthly 9 20261100 7", "del_2 monthly 1 20261100 0",
		},
		"SELECT mandate_id || ' ' || count || ' ' || volume_micros || ' ' || used_micros FROM tallies":       {"del_1 1 500 0"},
		"SELECT reference || ' ' || mandate_id || ' ' || state || ' ' || method FROM instruments ORDER BY 1": {"del_1.0 del_1 connected pm_1", "del_2.0 del_2 disconnecting 0x2"},
		"SELECT id || ' ' || kind || ' ' || due_ms FROM unwindings":                                          {"del_2 mandate 9"},
		"SELECT entropy || ' ' || session_hash || ' ' || charge_id || ' ' || description FROM checkouts ORDER BY 1": {
			"2V5T9N3W6Y0ZB4CF h1 txn_1 d", "2V5T9N3W6Y0ZB4CG h2  d",
		},
	} {
		require.Equal(t, want, texts(t, pool, query), query)
	}
}

func texts(t *testing.T, pool *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var one string
		require.NoError(t, rows.Scan(&one))
		all = append(all, one)
	}
	require.NoError(t, rows.Err())
	return all
}

// onBoth runs a test on an empty database of each engine.
func onBoth(t *testing.T, test func(*testing.T, *sql.DB, goose.Dialect, *strings.Replacer)) {
	t.Helper()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		pool, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "pay.db"))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, pool.Close()) })
		test(t, pool, goose.DialectSQLite3, strings.NewReplacer("/* clustered */", "WITHOUT ROWID"))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		pool, err := sql.Open("pgx", pgtest.Schema(t))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, pool.Close()) })
		test(t, pool, goose.DialectPostgres, strings.NewReplacer())
	})
}

// checkoutsOf migrates sessions and charges of before the fourteenth migration, and
// returns the checkouts that they become.
func checkoutsOf(t *testing.T, pool *sql.DB, dialect goose.Dialect, words *strings.Replacer, statements ...string) []string {
	t.Helper()
	old, err := goose.NewProvider(dialect, pool, migrations(t, words))
	require.NoError(t, err)
	_, err = old.UpTo(t.Context(), 8)
	require.NoError(t, err)
	for _, statement := range statements {
		_, err := pool.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	require.NoError(t, sqlstore.Migrate(t.Context(), sqlstore.Engine{Dialect: dialect, Rewrite: words}, pool))
	return texts(t, pool, "SELECT entropy || ' ' || session_hash || ' ' || merchant_id || ' ' || charge_id FROM checkouts ORDER BY 1")
}

// oldCheckout inserts a session that says it is of a checkout, created at a time.
func oldCheckout(hash, merchant, checkout, mandate string, created int) string {
	status := "pending"
	if mandate != "" {
		status = "completed"
	}
	return fmt.Sprintf(`INSERT INTO sessions VALUES ('%s', '%s', '%s', '', 500, 500, '[]', '[]', 1, '', '{"checkout":"%s"}', 0, '%s', '', %d, 9)`,
		hash, merchant, status, checkout, mandate, created)
}

// TestPaidCheckoutKeepsItsChargeWhenItsKeyIsForgotten: keys are deleted after 30 days.
func TestPaidCheckoutKeepsItsChargeWhenItsKeyIsForgotten(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, pool *sql.DB, dialect goose.Dialect, words *strings.Replacer) {
		charge := func(id, mandate string, amount int, end string) string {
			return fmt.Sprintf(`INSERT INTO charges VALUES ('%s', '%s', 'mer_1', '', %d, 0, 'usd', '', '{}', '["fiatrail"]', 202611, %s, 0, 0, 1, %s)`,
				id, mandate, amount, end, map[bool]string{true: "1", false: "0"}[strings.HasPrefix(end, "'succeeded'")])
		}
		const succeeded, failed = `'succeeded', 'fiatrail', '', 'pay_1', ''`, `'failed', 'fiatrail', '', '', 'card_declined'`
		require.Equal(t, []string{
			"2V5T9N3W6Y0ZB4CF h1 mer_1 txn_2", "2V5T9N3W6Y0ZB4CG h2 mer_1 txn_3", "2V5T9N3W6Y0ZB4CH h3 mer_1 ", "2V5T9N3W6Y0ZB4CJ h4 mer_1 ",
		}, checkoutsOf(t, pool, dialect, words,
			oldCheckout("h1", "mer_1", "chk_00000000012V5T9N3W6Y0ZB4CF", "del_1", 1), charge("txn_1", "del_1", 400, succeeded), charge("txn_2", "del_1", 500, succeeded),
			oldCheckout("h2", "mer_1", "chk_00000000012V5T9N3W6Y0ZB4CG", "del_2", 1), charge("txn_3", "del_2", 500, failed),
			oldCheckout("h3", "mer_1", "chk_00000000012V5T9N3W6Y0ZB4CH", "del_3", 1),
			oldCheckout("h4", "mer_1", "chk_00000000012V5T9N3W6Y0ZB4CJ", "", 1), charge("txn_4", "", 500, succeeded),
		))
	})
}

// TestMerchantsMetadataTakesNoCheckoutsPlace: before the upgrade, a merchant made
// sessions whose metadata name another merchant's checkouts.
func TestMerchantsMetadataTakesNoCheckoutsPlace(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, pool *sql.DB, dialect goose.Dialect, words *strings.Replacer) {
		const first, second = "2V5T9N3W6Y0ZB4CF", "2V5T9N3W6Y0ZB4CG"
		require.Equal(t, []string{first + " h5 victim ", second + " h6 victim "}, checkoutsOf(t, pool, dialect, words,
			oldCheckout("h1", "thief", "chk_0000000001"+first, "", 3),
			oldCheckout("h5", "victim", "chk_0000000001"+first, "", 1),
			oldCheckout("h9", "thief", "chk_0000000001"+first, "", 3),
			oldCheckout("h2", "thief", "chk_0000000003"+second, "", 3), // the time was guessed
			oldCheckout("h6", "victim", "chk_0000000001"+second, "", 1),
			oldCheckout("h8", "thief", "chk_0000000003"+second, "", 3),
			oldCheckout("h0", "thief", "chk_00000000012V5T9N3W6Y0ZB4CX", "", 3),
		))
	})
}

// TestMigrationsWaitForWritersOfOlderVersions: a charge that another instance has inserted and
// not committed is moved too.
func TestMigrationsWaitForWritersOfOlderVersions(t *testing.T) {
	t.Parallel()
	pool, err := sql.Open("pgx", pgtest.Schema(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	files := migrations(t, strings.NewReplacer("/* LOCK", "LOCK", "MODE; */", "MODE;"))
	provider, err := goose.NewProvider(goose.DialectPostgres, pool, files, goose.WithGoMigrations(goose.NewGoMigration(14, nil, nil)))
	require.NoError(t, err)
	for i, day := range []string{"month", "day"} {
		version := int64(18 + i)
		_, err = provider.UpTo(t.Context(), version-1)
		require.NoError(t, err)
		older, err := pool.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = older.ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO charges (id, mandate_id, merchant_id, pay_to, amount_micros, fee_micros, currency,
description, metadata, rails, %s, status, rail, tx_hash, processor_id, failure_reason, lease_ms, asked, created_ms, settled_ms)
VALUES ('txn_%d', 'del_1', 'mer_1', '', 1, 0, 'usd', '', '{}', '["fiatrail"]', 202611, 'pending', '', '', '', '', 1, 0, 1, 0)`, day, version))
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() {
			_, err := provider.UpTo(t.Context(), version)
			done <- err
		}()
		waiting := func() bool {
			return len(texts(t, pool, "SELECT 'x' FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'")) > 0
		}
		require.Eventually(t, waiting, 20*time.Second, 20*time.Millisecond)
		require.NoError(t, older.Commit())
		require.NoError(t, <-done)
		require.Contains(t, texts(t, pool, "SELECT id FROM charges"), fmt.Sprintf("txn_%d", version))
	}
}

// heldBeforeTabs is how programs from before tabs look for authorizations to void.
const heldBeforeTabs = "SELECT id FROM charges WHERE status = 'authorized' AND authorized_until_ms <= %d"

// TestDrawsOfBeforeAreNotVoidedByOlderPrograms: an older instance would give them back while
// their tab is captured.
func TestDrawsOfBeforeAreNotVoidedByOlderPrograms(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, pool *sql.DB, dialect goose.Dialect, words *strings.Replacer) {
		old, err := goose.NewProvider(dialect, pool, migrations(t, words), goose.WithGoMigrations(goose.NewGoMigration(14, nil, nil)))
		require.NoError(t, err)
		_, err = old.UpTo(t.Context(), 23)
		require.NoError(t, err)
		for id, tab := range map[string]string{"txn_draw": "tab_1", "txn_hold": ""} {
			_, err := pool.ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO charges (id, mandate_id, merchant_id, pay_to, amount_micros, fee_micros, currency, description,
				metadata, rails, day, status, rail, tx_hash, processor_id, failure_reason, lease_ms, asked, created_ms, settled_ms, lease_owner, attempt, resource, step, tab_id)
				VALUES ('%s', 'del_1', 'mer_1', '', 10000, 0, 'usd', '', '{}', '["fiatrail"]', 20261122, 'authorized', 'fiatrail', '', '', '', 0, 0, 1, 0, '', 1, '', '', '%s')`, id, tab))
			require.NoError(t, err)
		}
		require.NoError(t, sqlstore.Migrate(t.Context(), sqlstore.Engine{Dialect: dialect, Rewrite: words}, pool))
		require.Equal(t, []string{"txn_hold"}, texts(t, pool, fmt.Sprintf(heldBeforeTabs, time.Now().AddDate(1000, 0, 0).UnixMilli())))
	})
}
