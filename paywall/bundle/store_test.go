package bundle_test

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/paywall/bundle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openSQL(t *testing.T, driver, source string) bundle.Store {
	t.Helper()
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	s := bundle.NewSQL(db)
	for range 2 {
		require.NoError(t, s.Migrate(t.Context()), "also where the table is there")
	}
	return s
}

// TestStores is the contract of every Store.
func TestStores(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) bundle.Store{
		"memory": func(*testing.T) bundle.Store { return bundle.NewMemory() },
		"sqlite": func(t *testing.T) bundle.Store {
			return openSQL(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "b.db")+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)")
		},
		"postgres": func(t *testing.T) bundle.Store { return openSQL(t, "pgx", pgtest.Schema(t)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			testStore(t, store)
			testLastCredits(t, store)
		})
	}
}

func testStore(t *testing.T, s bundle.Store) {
	t.Helper()
	ctx, now := t.Context(), time.UnixMilli(1_800_000_000_000)
	b := bundle.Bundle{ID: "bun_1", TenantID: "acme", Tier: "small", Requests: 2, Remaining: 2, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
	require.NoError(t, s.Create(ctx, b))
	again := b
	again.Requests, again.Remaining = 1000, 1000
	require.ErrorIs(t, s.Create(ctx, again), bundle.ErrExists)
	same := func(want, got bundle.Bundle) {
		t.Helper()
		require.True(t, want.CreatedAt.Equal(got.CreatedAt) && want.ExpiresAt.Equal(got.ExpiresAt))
		got.CreatedAt, got.ExpiresAt = want.CreatedAt, want.ExpiresAt
		require.Equal(t, want, got)
	}
	got, err := s.Read(ctx, "bun_1")
	require.NoError(t, err)
	same(b, got)

	require.NoError(t, s.Refund(ctx, "bun_1"), "full: nothing happens")
	for left := int64(1); left >= 0; left-- {
		got, err = s.Deduct(ctx, "bun_1", now)
		require.NoError(t, err)
		b.Remaining = left
		same(b, got)
	}
	got, err = s.Deduct(ctx, "bun_1", now)
	require.ErrorIs(t, err, bundle.ErrEmpty)
	require.Equal(t, "acme", got.TenantID)
	require.NoError(t, s.Refund(ctx, "bun_1"))
	_, err = s.Deduct(ctx, "bun_1", now.Add(time.Hour))
	require.ErrorIs(t, err, bundle.ErrEmpty, "expired")
	got, err = s.Deduct(ctx, "bun_1", now.Add(time.Hour-time.Second))
	require.NoError(t, err)
	require.Zero(t, got.Remaining)

	for _, err := range []error{s.Refund(ctx, "bun_2"), second(s.Read(ctx, "bun_2")), second(s.Deduct(ctx, "bun_2", now))} {
		require.ErrorIs(t, err, bundle.ErrNotFound)
	}
}

func second(_ bundle.Bundle, err error) error { return err }

// testLastCredits: a hundred at once for ten credits get ten.
func testLastCredits(t *testing.T, s bundle.Store) {
	t.Helper()
	now := time.UnixMilli(1_800_000_000_000)
	require.NoError(t, s.Create(t.Context(), bundle.Bundle{ID: "bun_9", Tier: "t", Requests: 10, Remaining: 10, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}))
	errs := make(chan error, 100)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			_, err := s.Deduct(t.Context(), "bun_9", now)
			errs <- err
		})
	}
	all.Wait()
	taken := 0
	for range 100 {
		err := <-errs
		if err == nil {
			taken++
		} else {
			require.ErrorIs(t, err, bundle.ErrEmpty)
		}
	}
	require.Equal(t, 10, taken)
}
