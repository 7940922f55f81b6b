package keys_test

import (
	"bytes"
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/clock"
	"github.com/paywarrant/paywarrant/mandate"
	"github.com/paywarrant/paywarrant/server/internal/keys"
	"github.com/paywarrant/paywarrant/server/store"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
	"github.com/paywarrant/paywarrant/server/vault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type fixture struct {
	*keys.Keys

	config keys.Config
	clock  *clock.Movable
}

func setup(t *testing.T) fixture {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "pay.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	f := fixture{clock: &clock.Movable{}}
	f.config = keys.Config{Store: store, Vault: box(t, 1), Clock: f.clock.Now}
	f.Keys, err = keys.Open(t.Context(), f.config)
	require.NoError(t, err)
	return f
}

func box(t *testing.T, fill byte) *vault.Vault {
	t.Helper()
	wrapper, err := vault.NewLocal(bytes.Repeat([]byte{fill}, 32))
	require.NoError(t, err)
	return vault.New(wrapper)
}

// states are those of the keys, the oldest first.
func (f fixture) states(t *testing.T) []mandate.KeyState {
	t.Helper()
	list, err := f.List(t.Context())
	require.NoError(t, err)
	var states []mandate.KeyState
	for _, k := range list {
		states = append(states, k.State)
	}
	return states
}

func (f fixture) rotate(t *testing.T) keys.Key {
	t.Helper()
	f.clock.Advance(keys.PublishedBefore)
	k, err := f.Rotate(t.Context(), false)
	require.NoError(t, err)
	return k
}

// sealed is the stored private part of a key.
func (f fixture) sealed(t *testing.T, kid string) []byte {
	t.Helper()
	rows, err := f.config.Store.SealedKeys(t.Context(), "issuer/")
	require.NoError(t, err)
	for _, row := range rows {
		var public mandate.PublicKey
		if public.UnmarshalJSON(row.Public) == nil && public.ID() == kid {
			return row.Sealed
		}
	}
	return nil
}

const (
	next    = mandate.KeyNext
	current = mandate.KeyCurrent
	retired = mandate.KeyRetired
	revoked = mandate.KeyRevoked
)

func TestKeyLife(t *testing.T) {
	t.Parallel()
	f := setup(t)
	require.Equal(t, []mandate.KeyState{current, next}, f.states(t))
	before, err := f.List(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, f.sealed(t, before[0].ID()))

	signs := f.rotate(t)
	require.Equal(t, before[1].ID(), signs.ID(), "the next key was published before")
	require.Equal(t, []mandate.KeyState{retired, current, next}, f.states(t))
	require.Empty(t, f.sealed(t, before[0].ID()), "a retired key cannot sign any more")

	f.rotate(t)
	require.Equal(t, []mandate.KeyState{retired, retired, current, next}, f.states(t))
	k, err := f.Revoke(t.Context(), before[0].ID())
	require.NoError(t, err)
	require.Equal(t, revoked, k.State)
	require.False(t, k.Published)
	require.Equal(t, []mandate.KeyState{revoked, retired, current, next}, f.states(t))
	again, err := f.Revoke(t.Context(), before[0].ID())
	require.NoError(t, err)
	require.Equal(t, k.RevokedAt, again.RevokedAt)
	_, err = f.Revoke(t.Context(), "unheard-of")
	require.ErrorIs(t, err, mandate.ErrKeyUnknown)
}

func TestRevokingTheCurrentOrTheNextKeyLeavesBoth(t *testing.T) {
	t.Parallel()
	f := setup(t)
	list, err := f.List(t.Context())
	require.NoError(t, err)
	_, err = f.Revoke(t.Context(), list[0].ID())
	require.NoError(t, err)
	require.Equal(t, []mandate.KeyState{revoked, current, next}, f.states(t))
	list, err = f.List(t.Context())
	require.NoError(t, err)
	_, err = f.Revoke(t.Context(), list[2].ID())
	require.NoError(t, err)
	require.Equal(t, []mandate.KeyState{revoked, current, revoked, next}, f.states(t))
	require.Empty(t, f.sealed(t, list[2].ID()))

	reopened, err := keys.Open(t.Context(), f.config)
	require.NoError(t, err)
	signer, err := reopened.Signer(t.Context())
	require.NoError(t, err)
	require.Equal(t, list[1].ECDSA(), signer.Public())
	_, err = reopened.Key(t.Context(), list[0].ID())
	require.ErrorIs(t, err, mandate.ErrKeyUnknown)
}

func TestRotationWaitsUntilVerifiersKnowTheNextKey(t *testing.T) {
	t.Parallel()
	f := setup(t)
	_, err := f.Rotate(t.Context(), false)
	require.ErrorIs(t, err, keys.ErrTooYoung)
	require.Equal(t, []mandate.KeyState{current, next}, f.states(t))
	_, err = f.Rotate(t.Context(), true)
	require.NoError(t, err)
	require.Equal(t, []mandate.KeyState{retired, current, next}, f.states(t))
}

// TestWrongKeyEncryptionKeyChangesNothing: keys that the service cannot open must
// never become the ones that it needs.
func TestWrongKeyEncryptionKeyChangesNothing(t *testing.T) {
	t.Parallel()
	f := setup(t)
	wrong := f.config
	wrong.Vault = box(t, 2)
	stranger := keys.New(wrong)
	_, err := stranger.Rotate(t.Context(), true)
	require.ErrorIs(t, err, vault.ErrSealed)
	list, err := f.List(t.Context())
	require.NoError(t, err)
	_, err = stranger.Revoke(t.Context(), list[0].ID())
	require.ErrorIs(t, err, vault.ErrSealed)
	require.Equal(t, []mandate.KeyState{current, next}, f.states(t))
}

// TestRetiredKeysOutliveTheLongestMandate, and are published no longer.
func TestRetiredKeysOutliveTheLongestMandate(t *testing.T) {
	t.Parallel()
	f := setup(t)
	first, err := f.List(t.Context())
	require.NoError(t, err)
	f.rotate(t)
	f.clock.Advance(2 * 366 * 24 * time.Hour)
	list, err := f.List(t.Context())
	require.NoError(t, err)
	require.True(t, list[0].Published)
	f.clock.Advance(32 * 24 * time.Hour)
	list, err = f.List(t.Context())
	require.NoError(t, err)
	require.False(t, list[0].Published)
	require.Equal(t, retired, list[0].State)
	reopened, err := keys.Open(t.Context(), f.config)
	require.NoError(t, err)
	_, err = reopened.Key(t.Context(), first[0].ID())
	require.ErrorIs(t, err, mandate.ErrKeyUnknown)
}

// TestProcessesRotateAndRevokeAtOnce: whatever the order, one key signs, one is
// next, and what was revoked stays revoked.
func TestProcessesRotateAndRevokeAtOnce(t *testing.T) {
	t.Parallel()
	for range 10 {
		f := setup(t)
		list, err := f.List(t.Context())
		require.NoError(t, err)
		var all sync.WaitGroup
		for range 3 {
			other := keys.New(f.config)
			all.Go(func() { _, _ = other.Rotate(t.Context(), true) }) // one that comes second finds the private part destroyed
			all.Go(func() { _, _ = other.Revoke(t.Context(), list[1].ID()) })
		}
		all.Wait()
		_, err = f.Revoke(t.Context(), list[1].ID())
		require.NoError(t, err)
		count := map[mandate.KeyState]int{}
		for _, s := range f.states(t) {
			count[s]++
		}
		require.Equal(t, 1, count[current], count)
		require.GreaterOrEqual(t, count[next], 1, count)
		list, err = f.List(t.Context())
		require.NoError(t, err)
		require.Equal(t, revoked, list[1].State)
		_, err = keys.Open(t.Context(), f.config)
		require.NoError(t, err)
	}
}

// countingStore counts readings.
type countingStore struct {
	keys.Store

	mu sync.Mutex
	n  int
}

func (s *countingStore) SealedKeys(ctx context.Context, prefix string) ([]store.SealedKey, error) {
	s.mu.Lock()
	s.n++
	s.mu.Unlock()
	return s.Store.SealedKeys(ctx, prefix)
}

func TestAnUnknownKeyIsLookedForInTheStore(t *testing.T) {
	t.Parallel()
	f := setup(t)
	counting := &countingStore{Store: f.config.Store}
	cfg := f.config
	cfg.Store = counting
	service, err := keys.Open(t.Context(), cfg)
	require.NoError(t, err)
	_, err = f.Rotate(t.Context(), true)
	require.NoError(t, err)
	list, err := f.List(t.Context())
	require.NoError(t, err)
	found, err := service.Key(t.Context(), list[2].ID()) // made after the service began
	require.NoError(t, err)
	require.Equal(t, list[2].ID(), found.ID())

	before := counting.n
	var all sync.WaitGroup
	for range 100 { // a flood of made-up keys
		all.Go(func() {
			_, err := service.Key(t.Context(), "made-up")
			require.ErrorIs(t, err, mandate.ErrKeyUnknown)
		})
	}
	all.Wait()
	require.LessOrEqual(t, counting.n-before, 10)
}

func TestSecretsStay(t *testing.T) {
	t.Parallel()
	f := setup(t)
	one, err := f.Secret(t.Context(), "receipts")
	require.NoError(t, err)
	require.Len(t, one, 32)
	two, err := f.Secret(t.Context(), "receipts")
	require.NoError(t, err)
	require.Equal(t, one, two)
	other, err := f.Secret(t.Context(), "others")
	require.NoError(t, err)
	require.NotEqual(t, one, other)
}

// TestIDsAreArguments: a command line would take one that begins with a dash for a flag.
func TestIDsAreArguments(t *testing.T) {
	t.Parallel()
	for range 1_000 { // one of 64 would
		_, public, err := keys.Generate()
		require.NoError(t, err)
		require.NotEqual(t, byte('-'), public.ID()[0])
	}
}
