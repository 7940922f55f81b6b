package server_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
	"github.com/paywarrant/paywarrant/server/vault"
)

// open is a service on a store that is not started.
func open(t *testing.T, path string) *server.Server {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path)
	require.NoError(t, err)
	srv, err := server.New(t.Context(), server.Config{
		BaseURL: "http://127.0.0.1:4020", Mode: server.Sandbox, Store: store, Rails: []rail.Rail{card.Sandbox(store)},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	return srv
}

func status(t *testing.T, srv *server.Server, path string) int {
	t.Helper()
	w := httptest.NewRecorder()
	srv.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w.Code
}

func TestReadyFromStartToDrain(t *testing.T) {
	t.Parallel()
	srv := open(t, filepath.Join(t.TempDir(), "pay.db"))
	require.Equal(t, 503, status(t, srv, "/readyz"))
	require.NoError(t, srv.Start(t.Context()))
	require.Equal(t, 200, status(t, srv, "/readyz"))
	srv.Drain()
	require.Equal(t, 503, status(t, srv, "/readyz"))
	require.Equal(t, 200, status(t, srv, "/healthz"), "it goes on to answer")
	require.Equal(t, 404, status(t, srv, "/nothing"))
}

// TestFaultInTheLedgerLeavesInstancesReady: a fault is for people to look at. It must
// not take every instance out that starts.
func TestFaultInTheLedgerLeavesInstancesReady(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pay.db")
	srv := open(t, path)
	raw, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
	require.NoError(t, err)
	defer func() { require.NoError(t, raw.Close()) }()
	_, err = raw.ExecContext(t.Context(), `INSERT INTO tallies (merchant_id, mandate_id, count, volume_micros, start_day, used_micros) VALUES ('mer_1', 'del_1', 1, 1, 0, 0)`)
	require.NoError(t, err)
	r, err := srv.CheckLedger(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, r.Faults)
	require.NoError(t, srv.Start(t.Context()))
	require.Equal(t, 200, status(t, srv, "/readyz"))
}

// late is a store whose database is an hour behind.
type late struct{ store.Store }

func (late) Now(context.Context) (time.Time, error) { return time.Now().Add(-time.Hour), nil }

func TestServiceWithAWrongClockDoesNotStart(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	wrapper, err := vault.NewLocal(make([]byte, 32))
	require.NoError(t, err)
	for _, mode := range []server.Mode{server.Sandbox, server.Live} {
		_, err = server.New(t.Context(), server.Config{
			BaseURL: "http://127.0.0.1:4020", Mode: mode, Store: late{store}, Rails: []rail.Rail{card.Sandbox(store)}, Wrapper: wrapper,
		})
		require.ErrorContains(t, err, "server: Clock: the clock of this machine is too far from the database's: 1h0m0s ahead")
	}
}
