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

	_ "github.com/jackc/pgx/v5/stdlib" // the driver
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // the driver

	"github.com/paywarrant/paywarrant/internal/pgtest"
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
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		pool, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "pay.db"))
		require.NoError(t, err)
		outboxGetsItsPlaces(t, pool, goose.DialectSQLite3, strings.NewReplacer("/* clustered */", "WITHOUT ROWID"))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		pool, err := sql.Open("pgx", pgtest.Schema(t))
		require.NoError(t, err)
		outboxGetsItsPlaces(t, pool, goose.DialectPostgres, strings.NewReplacer())
	})
}

func outboxGetsItsPlaces(t *testing.T, pool *sql.DB, dialect goose.Dialect, words *strings.Replacer) {
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
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
