package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

// passkeys: an account lists and deletes its own passkeys alone, and a count of signatures is
// used once.
func passkeys(t *testing.T, b *bench) {
	ctx, now := t.Context(), b.clock.Now().Truncate(time.Millisecond).UTC()
	key := func(id, subject string, at time.Time) store.Passkey {
		return store.Passkey{
			ID: id, Subject: subject, Email: "ada@example.com", Name: "Phone", PublicKey: []byte{0, 1, 255}, Flags: 0x1d, CreatedAt: at,
		}
	}
	first, second, other := key("one", "mrch_a", now), key("two", "mrch_a", now.Add(time.Second)), key("three", "mrch_b", now)
	second.SignCount = 4
	for _, k := range []store.Passkey{second, other, first} {
		require.NoError(t, b.store.AddPasskey(ctx, k))
	}
	require.ErrorIs(t, b.store.AddPasskey(ctx, key("one", "mrch_b", now)), ledger.ErrConflict)
	all, err := b.store.PasskeysOf(ctx, "mrch_a")
	require.NoError(t, err)
	require.Equal(t, []store.Passkey{first, second}, all)

	use := func(id string, count uint32) bool {
		done, err := b.store.UsePasskey(ctx, id, 0x0d, count, now.Add(time.Minute))
		require.NoError(t, err)
		return done
	}
	require.True(t, use("one", 0), "it does not count")
	require.True(t, use("one", 0))
	require.False(t, use("two", 4))
	require.False(t, use("two", 0))
	require.False(t, use("none", 1))
	var callers sync.WaitGroup
	var used atomic.Int32
	for range 8 {
		callers.Go(func() {
			if done, err := b.store.UsePasskey(ctx, "two", 0x0d, 1<<32-1, now.Add(time.Minute)); err == nil && done {
				used.Add(1)
			}
		})
	}
	callers.Wait()
	require.EqualValues(t, 1, used.Load())
	got, err := b.store.Passkey(ctx, "two")
	require.NoError(t, err)
	second.SignCount, second.Flags, second.UsedAt = 1<<32-1, 0x0d, now.Add(time.Minute)
	require.Equal(t, second, got)

	done, err := b.store.SuspectPasskey(ctx, "one", now)
	require.NoError(t, err)
	require.True(t, done)
	done, err = b.store.SuspectPasskey(ctx, "one", now.Add(time.Hour))
	require.NoError(t, err)
	require.False(t, done)
	require.False(t, use("one", 1), "it is suspect")

	for _, subject := range []string{"mrch_b", "mrch_a", "mrch_a"} {
		done, err = b.store.DeletePasskey(ctx, subject, "one")
		require.NoError(t, err)
		_, err = b.store.Passkey(ctx, "one")
		require.Equal(t, subject == "mrch_b", err == nil, "another account's")
	}
	require.False(t, done)
	_, err = b.store.Passkey(ctx, "one")
	require.ErrorIs(t, err, ledger.ErrNotFound)
}
