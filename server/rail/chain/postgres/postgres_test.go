package postgres_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/pgtest"
	"github.com/paywarrant/paywarrant/server/rail/chain/postgres"
	"github.com/paywarrant/paywarrant/server/rail/chain/records"
	"github.com/paywarrant/paywarrant/server/rail/chain/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) storetest.Open {
		url := pgtest.Schema(t)
		return func() (records.Store, error) { return postgres.Open(t.Context(), url) }
	})
}

func open(t *testing.T, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestOpen(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	_, err := postgres.OpenConfig(t.Context(), postgres.Config{URL: url, MustExist: true})
	require.ErrorIs(t, err, postgres.ErrNoRecords)
	for field, c := range map[string]postgres.Config{"URL": {}, "Connections": {URL: url, Connections: -1}, "postgres: URL": {URL: "postgres://%"}} {
		_, err := postgres.OpenConfig(t.Context(), c)
		require.ErrorContains(t, err, field)
	}
	var all sync.WaitGroup
	failed := make(chan error, 8)
	for range cap(failed) { // at once, as instances of one deployment do
		all.Go(func() {
			s, err := postgres.Open(t.Context(), url)
			if err == nil {
				err = s.Close()
			}
			failed <- err
		})
	}
	all.Wait()
	for range cap(failed) {
		require.NoError(t, <-failed)
	}
	s, err := postgres.OpenConfig(t.Context(), postgres.Config{URL: url, MustExist: true})
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// admin runs a statement without the store.
func admin(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), statement)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

func put(tx records.Tx) error { return tx.Put("kind", "key", []byte("value")) }

// TestUpdatesWithoutTheirLockAreRefused checks that nothing is written if the row that
// updates lock is missing, or is of a later version.
func TestUpdatesWithoutTheirLockAreRefused(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	s := open(t, url)
	require.NoError(t, s.Update(t.Context(), put))
	admin(t, url, "UPDATE chain_records SET value = '2' WHERE kind = 'lock'")
	require.ErrorContains(t, s.Update(t.Context(), put), "schema version 2")
	admin(t, url, "DELETE FROM chain_records WHERE kind = 'lock'")
	require.ErrorContains(t, s.Update(t.Context(), put), "lock is missing")
}

// TestAnInstanceThatStandsStillLosesItsLock checks that the database rolls its transaction
// back, and that others can write.
func TestAnInstanceThatStandsStillLosesItsLock(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	stuck, other := open(t, url+"&idle_in_transaction_session_timeout=50"), open(t, url)
	held, goOn := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		var once sync.Once
		ended <- stuck.Update(t.Context(), func(tx records.Tx) error {
			err := tx.Put("kind", "stuck", []byte("value"))
			once.Do(func() { close(held); <-goOn })
			return err
		})
	}()
	<-held
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, other.Update(ctx, put))
	close(goOn)
	if err := <-ended; err == nil { // it ran again: then what it wrote came after
		return
	}
	require.NoError(t, other.View(t.Context(), func(tx records.Tx) error {
		_, found, err := tx.Get("kind", "stuck")
		require.False(t, found)
		return err
	}))
}

// TestTransactionsThatLoseAreRunAgain makes every other update fail to serialize, as
// colliding updates of a distributed engine do.
func TestTransactionsThatLoseAreRunAgain(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	s := open(t, url)
	admin(t, url, strings.Join([]string{
		`CREATE SEQUENCE losing`,
		`CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('losing') % 2 = 1 THEN RAISE EXCEPTION 'lost' USING ERRCODE = '40001'; END IF; RETURN NULL; END $$`,
		`CREATE TRIGGER lose AFTER INSERT ON chain_records FOR EACH STATEMENT EXECUTE FUNCTION lose()`,
	}, ";"))
	runs := 0
	for range 10 {
		require.NoError(t, s.Update(t.Context(), func(tx records.Tx) error { runs++; return put(tx) }))
	}
	require.Equal(t, 20, runs)
}

// TestRestartOfTheDatabase checks that records survive a restart and the store connects
// again.
func TestRestartOfTheDatabase(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	s := open(t, c.URL())
	require.NoError(t, s.Update(t.Context(), put))
	require.NoError(t, c.Restart(t.Context()))
	require.Eventually(t, func() bool {
		return s.View(t.Context(), func(tx records.Tx) error {
			value, found, err := tx.Get("kind", "key")
			require.True(t, err != nil || found && string(value) == "value")
			return err
		}) == nil
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, s.Update(t.Context(), put))
}
