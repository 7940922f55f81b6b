package status_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/internal/status"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
)

type fixture struct {
	*status.Lists

	config status.Config
	clock  *clock.Movable
	key    mandate.PublicKey
	signs  *atomic.Pointer[ecdsa.PrivateKey]
}

// setup serves the lists at an address, where verifiers find them.
func setup(t *testing.T, size int64) fixture {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	f := fixture{clock: &clock.Movable{}, signs: &atomic.Pointer[ecdsa.PrivateKey]{}}
	f.signs.Store(key)
	f.key, err = mandate.NewPublicKey(&key.PublicKey)
	require.NoError(t, err)
	mux := http.NewServeMux()
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	f.config = status.Config{
		Store: store, Signer: func(context.Context) (crypto.Signer, error) { return f.signs.Load(), nil }, BaseURL: srv.URL, Clock: f.clock.Now, Secret: []byte("secret"), Size: size,
	}
	f.Lists = status.New(f.config)
	mux.Handle("GET /status-lists/{list}", f.Lists)
	return f
}

// verifier reads lists as a stranger does.
func (f fixture) verifier() *mandate.RemoteStatusSource {
	return &mandate.RemoteStatusSource{Keys: mandate.StaticKeys(f.key), Clock: f.clock.Now}
}

func TestIDsCarryTheirPlace(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	other := f.config
	other.Secret = []byte("another")
	for range 1000 {
		one := f.NewID()
		require.True(t, id.Valid(id.Mandate, one), one)
		ref := f.Ref(one)
		require.NotNil(t, ref)
		require.Equal(t, f.config.BaseURL+"/status-lists/"+f.clock.Now().UTC().Format("2006-01"), ref.URI)
		require.GreaterOrEqual(t, ref.Index, int64(0))
		require.Less(t, ref.Index, int64(status.DefaultSize))
		require.Nil(t, status.New(other).Ref(one), "ids cannot be made without the secret")
	}
	require.Nil(t, f.Ref(id.New(id.Mandate, f.clock.Now())))
	require.Nil(t, f.Ref("del_short"))
}

// TestOnePlaceIsOneID: what the store refuses twice, an id, is what must not be
// given twice, a place.
func TestOnePlaceIsOneID(t *testing.T) {
	t.Parallel()
	f := setup(t, 16)
	ids, places := map[string]bool{}, map[mandate.StatusRef]bool{}
	for range 500 {
		one := f.NewID()
		ids[one], places[*f.Ref(one)] = true, true
	}
	require.Len(t, ids, 16)
	require.Len(t, places, 16)
}

func TestRevocationIsToldWithinTheTTL(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	gone, stays := f.NewID(), f.NewID()
	v := f.verifier()
	revoked := func(mandateID string) bool {
		yes, err := v.Revoked(t.Context(), *f.Ref(mandateID))
		require.NoError(t, err)
		return yes
	}
	require.False(t, revoked(gone))
	require.NoError(t, f.Revoke(t.Context(), gone))
	require.NoError(t, f.Revoke(t.Context(), gone))
	require.False(t, revoked(gone), "within the ttl it may not be known yet")
	f.clock.Advance(mandate.DefaultStatusTTL)
	require.True(t, revoked(gone))
	require.False(t, revoked(stays))
}

// TestInstancesHearOfEachOther: a revocation by one is served by the others.
func TestInstancesHearOfEachOther(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	mandateID := f.NewID()
	yes, err := f.verifier().Revoked(t.Context(), *f.Ref(mandateID))
	require.NoError(t, err)
	require.False(t, yes)
	require.NoError(t, status.New(f.config).Revoke(t.Context(), mandateID))
	require.Eventually(t, func() bool {
		yes, err := f.verifier().Revoked(t.Context(), *f.Ref(mandateID))
		return err == nil && yes
	}, time.Minute, 50*time.Millisecond)
}

func TestListsOfEachMonth(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	first := f.NewID()
	f.clock.Advance(32 * 24 * time.Hour)
	second := f.NewID()
	require.NotEqual(t, f.Ref(first).URI, f.Ref(second).URI)
	require.NoError(t, f.Revoke(t.Context(), first))
	v := f.verifier()
	for mandateID, want := range map[string]bool{first: true, second: false} {
		yes, err := v.Revoked(t.Context(), *f.Ref(mandateID))
		require.NoError(t, err)
		require.Equal(t, want, yes)
	}
	get := func(list string) int {
		resp, err := http.Get(f.config.BaseURL + "/status-lists/" + list)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	now := f.clock.Now().UTC()
	begin := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	require.Equal(t, 200, get(begin.AddDate(-2, 0, 0).Format("2006-01")), "the longest mandates live that long")
	for _, bad := range []string{begin.AddDate(0, 1, 0).Format("2006-01"), begin.AddDate(-3, 0, 0).Format("2006-01"), "x", "2026-1", "2026-13", "2026-11-1"} {
		require.Equal(t, 404, get(bad), bad)
	}
}

// TestListFollowsTheKey: once another key signs, the one before may be revoked,
// and the list must not need it.
func TestListFollowsTheKey(t *testing.T) {
	t.Parallel()
	f := setup(t, 0)
	ref := *f.Ref(f.NewID())
	_, err := f.verifier().Revoked(t.Context(), ref)
	require.NoError(t, err)
	next, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	f.signs.Store(next)
	public, err := mandate.NewPublicKey(&next.PublicKey)
	require.NoError(t, err)
	after := &mandate.RemoteStatusSource{Keys: mandate.StaticKeys(public), Clock: f.clock.Now}
	_, err = after.Revoked(t.Context(), ref)
	require.NoError(t, err)
}
