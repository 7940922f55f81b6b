package server_test

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
	"github.com/paywarrant/paywarrant/server/vault"
)

// TestUndonePaymentsOfRailsReachTheLedger: the service listens to every rail that can
// take a payment back.
func TestUndonePaymentsOfRailsReachTheLedger(t *testing.T) {
	t.Parallel()
	wrapper, err := vault.NewLocal(make([]byte, 32))
	require.NoError(t, err)
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	var logged bytes.Buffer
	one := &reversing{Rail: card.Sandbox(store)}
	srv, err := server.New(t.Context(), server.Config{
		BaseURL: "https://pay.example", Mode: server.Sandbox, Store: store, Rails: []rail.Rail{one}, Wrapper: wrapper,
		Logger: slog.New(slog.NewTextHandler(&logged, nil)),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	require.NotNil(t, one.report)
	require.NoError(t, one.report(t.Context(), rail.Undone{Rail: rail.Card, Reference: "txn_unknown.fiat", TxHash: "0x1"}))
	require.Contains(t, logged.String(), "txn_unknown.fiat")
}
