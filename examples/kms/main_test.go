package main

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/servertest"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/vault"
)

// keyService is somebody else's: it has keys by version and gives none away.
type keyService struct {
	mu       sync.Mutex
	versions []cipher.AEAD
	down     atomic.Bool
}

// rotate makes a new version the primary one.
func (k *keyService) rotate() {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	block, _ := aes.NewCipher(key[:])
	aead, _ := cipher.NewGCMWithRandomNonce(block)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.versions = append(k.versions, aead)
}

// destroy ends a version for good.
func (k *keyService) destroy(version int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.versions[version] = nil
}

func (k *keyService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.down.Load() || r.Header.Get("Authorization") != "Bearer secret" {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	primary := len(k.versions) - 1
	var m message
	_ = json.NewDecoder(r.Body).Decode(&m)
	switch r.URL.Path {
	case "/pay":
		m = message{Version: strconv.Itoa(primary)}
	case "/pay:encrypt":
		m = message{Version: strconv.Itoa(primary), Ciphertext: k.versions[primary].Seal(nil, nil, m.Plaintext, m.Associated)}
	case "/pay:decrypt":
		n, err := strconv.Atoi(m.Version)
		var plain []byte
		if err == nil && n >= 0 && n <= primary && k.versions[n] != nil {
			plain, err = k.versions[n].Open(nil, nil, m.Ciphertext, m.Associated)
		}
		if err != nil || plain == nil {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		m = message{Plaintext: plain}
	}
	_ = json.NewEncoder(w).Encode(m)
}

// The whole service on a key that it never sees: the key service rotates under it,
// goes away and comes back, and destroys the old version.
func TestServiceOnAKeyInTheCloud(t *testing.T) {
	t.Parallel()
	cloud := &keyService{}
	cloud.rotate()
	listener := httptest.NewServer(cloud)
	t.Cleanup(listener.Close)
	key := NewKey(listener.URL+"/pay", "secret")
	t.Cleanup(key.client.CloseIdleConnections)
	var store store.Store
	srv := servertest.Start(t, &servertest.Options{Configure: func(cfg *server.Config) { cfg.Wrapper, store = key, cfg.Store }})
	session, err := srv.Client().CreateSession(t.Context(), client.SessionParams{MaxPerTxCents: 500, MaxMonthlySpendCents: 5000})
	require.NoError(t, err)
	m := srv.CompleteSetup(t, session.SessionToken)
	opens := func() {
		t.Helper()
		again, err := srv.Client().Session(t.Context(), session.SessionToken)
		require.NoError(t, err)
		require.Equal(t, m, again.Mandate)
	}
	opens()

	cloud.rotate()
	require.NoError(t, key.Refresh(t.Context()))
	require.Equal(t, "1", key.Version())
	opens()
	n, err := server.Rewrap(t.Context(), store, key)
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, 4, "two signing keys, a session key, a token")
	n, err = server.Rewrap(t.Context(), store, key)
	require.NoError(t, err)
	require.Zero(t, n)
	cloud.destroy(0)
	opens()

	cloud.down.Store(true)
	_, err = srv.Client().Session(t.Context(), session.SessionToken)
	require.Error(t, err)
	charge, err := srv.Client().Charge(t.Context(), client.ChargeParams{Mandate: m, AmountCents: 100, Currency: client.USD, Description: "by card"})
	require.NoError(t, err, "a charge by card opens nothing")
	require.Equal(t, client.Completed, charge.Status)
	cloud.down.Store(false)
	opens()
}

func TestKeyRefuses(t *testing.T) {
	t.Parallel()
	cloud := &keyService{}
	cloud.rotate()
	listener := httptest.NewServer(cloud)
	t.Cleanup(listener.Close)
	key := NewKey(listener.URL+"/pay", "secret")
	wrapped, err := key.Wrap(t.Context(), make([]byte, 32), []byte("label"))
	require.NoError(t, err)
	_, err = key.Unwrap(t.Context(), wrapped, []byte("another label"))
	require.ErrorIs(t, err, vault.ErrSealed)
	_, err = key.Unwrap(t.Context(), []byte("damaged"), []byte("label"))
	require.ErrorIs(t, err, vault.ErrSealed)
	plain, err := key.Unwrap(t.Context(), wrapped, []byte("label"))
	require.NoError(t, err)
	require.Equal(t, make([]byte, 32), plain)
	_, err = NewKey(listener.URL+"/pay", "wrong").Unwrap(t.Context(), wrapped, []byte("label"))
	require.Error(t, err)
	require.NotErrorIs(t, err, vault.ErrSealed, "it may work later")
}
