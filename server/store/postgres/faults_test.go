package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/ledger/ledgertest"
	"github.com/paywarrant/paywarrant/server/store/postgres"
)

func on(url string) ledgertest.Database {
	return ledgertest.Database{Shared: true, Open: func(ctx context.Context) (ledger.Store, error) { return postgres.Open(ctx, url) }}
}

func TestServerRestartedUnderLoad(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	ledgertest.RunDisturbed(t, on(c.URL()), 3, c.Restart)
}

func TestServerKilledUnderLoad(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	ledgertest.RunDisturbed(t, on(c.URL()), 3, func(ctx context.Context) error {
		if err := c.Kill(ctx); err != nil {
			return err
		}
		return c.Start(ctx)
	})
}

// admin runs a statement beside the store.
func admin(t *testing.T, url, statement string) func(context.Context) error {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	return func(ctx context.Context) error {
		_, err := conn.Exec(ctx, statement)
		return err
	}
}

func TestConnectionsCutUnderLoad(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	ledgertest.RunDisturbed(t, on(c.URL()), 40, admin(t, c.URL(),
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'paywarrant'"))
}

// TestTransactionsThatLoseAreRunAgain: every other batch ends with a
// serialization failure, as a distributed engine's do when they collide.
func TestTransactionsThatLoseAreRunAgain(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	s, err := postgres.Open(t.Context(), url)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	for _, statement := range []string{
		`CREATE SEQUENCE losing`,
		`CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('losing') % 2 = 0 THEN RAISE EXCEPTION 'lost' USING ERRCODE = '40001'; END IF; RETURN NULL; END $$`,
		`CREATE TRIGGER lose AFTER INSERT ON charges FOR EACH STATEMENT EXECUTE FUNCTION lose()`,
	} {
		require.NoError(t, admin(t, url, statement)(t.Context()))
	}
	ledgertest.RunDisturbed(t, on(url), 1, func(context.Context) error { return nil })
}

func TestADatabaseThatOnlyReadsIsUnavailable(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	s, err := postgres.Open(t.Context(), url)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	s, err = postgres.OpenConfig(t.Context(), postgres.Config{URL: url + "&default_transaction_read_only=on", SkipMigrations: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.ErrorIs(t, s.PutMerchant(t.Context(), ledger.Merchant{ID: "mer_1"}), ledger.ErrUnavailable)
	err = s.Update(t.Context(), ledger.Keys{}, func(*ledger.State) (ledger.Effects, error) {
		return ledger.Effects{Insert: ledger.Rows{Sessions: []ledger.Session{{Hash: "h"}}}}, nil
	})
	require.ErrorIs(t, err, ledger.ErrUnavailable)
	_, err = s.Merchant(t.Context(), "mer_1")
	require.ErrorIs(t, err, ledger.ErrNotFound, "reads go on")
}
