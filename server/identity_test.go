package server_test

import (
	"bytes"
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
	"github.com/paywarrant/paywarrant/server/vault"
)

// TestStoreOfAnotherServiceIsRefused: a live service on a sandbox's store would charge
// what the sandbox's helpers made, and one of another base URL knows no mandate in it.
func TestStoreOfAnotherServiceIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pay.db")
	key := make([]byte, 32)
	_, _ = rand.Read(key)
	wrapper, err := vault.NewLocal(key)
	require.NoError(t, err)
	var logs bytes.Buffer
	open := func(mode server.Mode, url string, moved bool) error {
		store, err := sqlite.Open(t.Context(), path)
		require.NoError(t, err)
		fiat := card.Sandbox(store)
		srv, err := server.New(t.Context(), server.Config{
			BaseURL: url, Mode: mode, Store: store, Rails: []rail.Rail{fiat}, Wrapper: wrapper, Moved: moved,
			Logger: slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelWarn})),
		})
		if err != nil {
			require.NoError(t, fiat.Close())
			require.NoError(t, store.Close())
			return err
		}
		return srv.Close()
	}
	require.NoError(t, open(server.Sandbox, "https://pay.example", false))
	require.NoError(t, open(server.Sandbox, "https://pay.example", false))
	require.ErrorContains(t, open(server.Live, "https://pay.example", false), "sandbox service, and this one is live")
	require.ErrorContains(t, open(server.Live, "https://pay.example", true), "sandbox service")
	require.ErrorContains(t, open(server.Sandbox, "https://other.example", false), "https://pay.example")
	require.ErrorContains(t, open(server.Sandbox, "http://127.0.0.1:4020", false), "https://pay.example")
	require.NoError(t, open(server.Sandbox, "http://127.0.0.1:4020", true))
	logs.Reset()
	require.NoError(t, open(server.Sandbox, "http://localhost:4021", false), "of a machine of one's own")
	require.Contains(t, logs.String(), "mandates issued under the previous one are refused")
	require.Contains(t, logs.String(), "http://127.0.0.1:4020")
	require.NoError(t, open(server.Sandbox, "https://other.example", true))
	require.ErrorContains(t, open(server.Sandbox, "https://pay.example", false), "https://other.example")
}

// TestSpellingsOfABaseURLAreOneService: a slash at the end and the case of the host lock no
// operator out, whatever prepared the store.
func TestSpellingsOfABaseURLAreOneService(t *testing.T) {
	t.Parallel()
	spellings := []string{"https://pay.example", "https://pay.example/", "https://Pay.Example"}
	for _, first := range spellings {
		path := filepath.Join(t.TempDir(), "pay.db")
		store, err := sqlite.Open(t.Context(), path)
		require.NoError(t, err)
		require.NoError(t, server.ClaimStore(t.Context(), store, server.Sandbox, first, false))
		owner, err := store.Owner(t.Context())
		require.NoError(t, err)
		require.Equal(t, "https://pay.example", owner.Issuer)
		for _, then := range spellings {
			require.NoError(t, server.VerifyStore(t.Context(), store, server.Sandbox, then, false))
			require.NoError(t, store.Move(t.Context(), first), "as earlier versions stored it")
			require.NoError(t, server.VerifyStore(t.Context(), store, server.Sandbox, then, false))
		}
		require.Error(t, server.VerifyStore(t.Context(), store, server.Sandbox, "https://pay.example:8443", false))
		var logs bytes.Buffer
		srv, err := server.New(t.Context(), server.Config{
			BaseURL: "https://pay.example/", Mode: server.Sandbox, Store: store, Rails: []rail.Rail{card.Sandbox(store)},
			Logger: slog.New(slog.NewTextHandler(&logs, nil)),
		})
		require.NoError(t, err)
		require.Equal(t, first == "https://Pay.Example", strings.Contains(logs.String(), "base URL has changed"), "mandates name the host as it was spelled")
		owner, err = store.Owner(t.Context())
		require.NoError(t, err)
		require.Equal(t, "https://pay.example", owner.Issuer)
		require.NoError(t, srv.Close())
	}
}
