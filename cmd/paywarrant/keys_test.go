package main

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server"
)

// command runs a command line and returns what it printed.
func command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, output{&out, io.Discard})
	return out.String(), err
}

func TestKeysOfARunningServiceRotate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := startDevSystem(t.Context(), devSystemConfig{Addr: "127.0.0.1:0", Dir: dir, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	store := filepath.Join(dir, "pay.db")
	list := func() []server.SigningKey {
		text, err := command(t, "keys", "list", "--json", "--store", store)
		require.NoError(t, err)
		var keys []server.SigningKey
		require.NoError(t, json.Unmarshal([]byte(text), &keys))
		return keys
	}
	published := func() []mandate.PublicKey {
		resp, err := http.Get(s.BaseURL + "/.well-known/jwks.json")
		require.NoError(t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		keys, err := mandate.ParseJWKS(text)
		require.NoError(t, err)
		return keys
	}
	before := list()
	require.Len(t, before, 2)
	require.Len(t, published(), 2)

	_, err = command(t, "keys", "rotate", "--store", store)
	require.ErrorIs(t, err, server.ErrKeyTooYoung)
	text, err := command(t, "keys", "rotate", "--force", "--store", store)
	require.NoError(t, err)
	require.Contains(t, text, before[1].ID+" signs from now on")
	require.Eventually(t, func() bool { return len(published()) == 3 && published()[0].ID() == before[1].ID }, time.Minute, 20*time.Millisecond)

	_, err = command(t, "keys", "revoke", "--store", store, before[0].ID)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(published()) == 2 }, time.Minute, 20*time.Millisecond)
	text, err = command(t, "keys", "list", "--store", store)
	require.NoError(t, err)
	require.Regexp(t, `(?m)^`+before[0].ID+` +revoked .* no$`, text)
	require.Regexp(t, `(?m)^`+before[1].ID+` +current .* yes$`, text)

	_, err = command(t, "keys", "revoke", "--store", store, "unheard-of")
	require.ErrorIs(t, err, mandate.ErrKeyUnknown)
	_, err = command(t, "keys", "list", "--store", filepath.Join(dir, "elsewhere", "pay.db"))
	require.ErrorContains(t, err, "key file")
	_, err = command(t, "keys", "list")
	require.ErrorContains(t, err, "--config")
}

// TestKeyEncryptionKeyChangesBesideAService: a new key, then the old one forgotten,
// while the service runs; and a service that starts with what is left.
func TestKeyEncryptionKeyChangesBesideAService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := devSystemConfig{Addr: "127.0.0.1:0", Dir: dir, Logger: slog.New(slog.DiscardHandler), NoChain: true}
	s, err := startDevSystem(t.Context(), cfg)
	require.NoError(t, err)
	stop := sync.OnceFunc(func() { require.NoError(t, s.Close()) })
	t.Cleanup(stop)
	store, file := filepath.Join(dir, "pay.db"), filepath.Join(dir, "key-encryption-key")
	old, err := os.ReadFile(file)
	require.NoError(t, err)
	text, err := command(t, "keys", "rewrap", "--store", store)
	require.NoError(t, err)
	require.Regexp(t, `^[1-9]\d* secrets wrapped`, text)
	both, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.HasSuffix(both, old) && len(both) == 2*len(old))
	text, err = command(t, "keys", "rewrap", "--forget", "--store", store)
	require.NoError(t, err)
	require.Contains(t, text, "all other keys are forgotten")
	left, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, both[:len(old)], left)
	_, err = command(t, "keys", "rotate", "--force", "--store", store)
	require.NoError(t, err)
	stop()

	s, err = startDevSystem(t.Context(), cfg)
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.NoError(t, os.WriteFile(file, old, 0o600))
	_, err = command(t, "keys", "rewrap", "--forget", "--store", store)
	require.ErrorContains(t, err, "is not the key file of this store")
}
