package postgres_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/ledger/ledgertest"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/postgres"
	"github.com/paywarrant/paywarrant/server/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func opens(url string) storetest.Open {
	return func(ctx context.Context) (store.Store, error) { return postgres.Open(ctx, url) }
}

func fresh(t *testing.T) ledgertest.Database {
	return on(pgtest.Schema(t))
}

func TestStore(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, fresh)
	storetest.Run(t, func(t *testing.T) storetest.Open { return opens(pgtest.Schema(t)) })
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for wrong, cfg := range map[string]postgres.Config{
		"URL is required": {},
		"URL:":            {URL: "postgres://%"},
		"Readers":         {URL: "postgres:///x", Readers: -1},
		"Writers":         {URL: "postgres:///x", Writers: 65},
	} {
		_, err := postgres.OpenConfig(t.Context(), cfg)
		require.ErrorContains(t, err, wrong)
	}
	_, err := postgres.Open(t.Context(), "postgres:///x?host="+t.TempDir())
	require.ErrorContains(t, err, "connect")
}

func TestMigrationsAreAppliedOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	_, err := postgres.OpenConfig(t.Context(), postgres.Config{URL: url, SkipMigrations: true})
	require.ErrorIs(t, err, postgres.ErrOldSchema)
	var all sync.WaitGroup
	for range 4 { // instances that start at once
		all.Go(func() {
			s, err := postgres.Open(t.Context(), url)
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	s, err := postgres.OpenConfig(t.Context(), postgres.Config{URL: url, SkipMigrations: true})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestSidecarsAreApartForEachSchema(t *testing.T) {
	t.Parallel()
	path := func(url string) string {
		s, err := postgres.OpenConfig(t.Context(), postgres.Config{URL: url, SidecarFolder: "side"})
		require.NoError(t, err)
		require.NoError(t, s.Close())
		return s.SidecarPath("card.db")
	}
	one, other := pgtest.Schema(t), pgtest.Schema(t)
	again := path(one)
	require.Equal(t, again, path(one))
	require.NotEqual(t, path(one), path(other))
	require.Equal(t, "side", filepath.Dir(path(one)))
}

// TestCommitsWaitForStorage: a database that was set to lose the last commits is
// not taken at its word.
func TestCommitsWaitForStorage(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t, "synchronous_commit = off")
	s, err := postgres.Open(t.Context(), c.URL())
	require.NoError(t, err)
	setting, err := s.Setting(t.Context(), "synchronous_commit")
	require.NoError(t, err)
	require.Equal(t, "on", setting)
	require.NoError(t, s.Close())
}
