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

// oneTimeCodes: an account has one live code of a purpose, attempts are counted before they
// are compared, one caller uses a code, and only so many are put in a period.
func oneTimeCodes(t *testing.T, b *bench) {
	ctx, now := t.Context(), b.clock.Now()
	code := func(id string) store.Code {
		return store.Code{Purpose: "setup", Account: "ada@example.com", Binding: "browser", ID: id, ExpiresAt: now.Add(10 * time.Minute)}
	}
	put := func(c store.Code, at time.Time) bool {
		done, err := b.store.PutCode(ctx, c, at, at.Add(-time.Hour), 3)
		require.NoError(t, err)
		return done
	}
	other := code("other")
	other.Purpose = "sign-in"
	require.True(t, put(other, now))
	require.True(t, put(code("one"), now))
	require.True(t, put(code("two"), now))
	_, err := b.store.Code(ctx, "one")
	require.ErrorIs(t, err, ledger.ErrNotFound, "the second code replaces the first")

	var all sync.WaitGroup
	var counted atomic.Int32
	for range 12 {
		all.Go(func() {
			if _, err := b.store.AttemptCode(ctx, "setup", "ada@example.com", "browser", now, 5); err == nil {
				counted.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 5, counted.Load())
	_, err = b.store.AttemptCode(ctx, "setup", "ada@example.com", "browser", now, 5)
	require.ErrorIs(t, err, ledger.ErrNotFound)
	stored, err := b.store.Code(ctx, "two")
	require.NoError(t, err)
	require.Equal(t, 5, stored.Attempts)

	require.True(t, put(code("three"), now), "a new code may be attempted again")
	require.False(t, put(code("four"), now), "the fourth in an hour")
	got, err := b.store.AttemptCode(ctx, "setup", "ada@example.com", "browser", now, 5)
	require.NoError(t, err)
	require.Equal(t, store.Code{Purpose: "setup", Account: "ada@example.com", Binding: "browser", ID: "three", Attempts: 1, ExpiresAt: code("").ExpiresAt}, got)
	_, err = b.store.AttemptCode(ctx, "setup", "ada@example.com", "browser", now.Add(10*time.Minute), 5)
	require.ErrorIs(t, err, ledger.ErrNotFound, "it has expired")

	done, err := b.store.UseCode(ctx, "three")
	require.NoError(t, err)
	require.True(t, done)
	done, err = b.store.UseCode(ctx, "three")
	require.NoError(t, err)
	require.False(t, done)
	_, err = b.store.AttemptCode(ctx, "setup", "ada@example.com", "browser", now, 5)
	require.ErrorIs(t, err, ledger.ErrNotFound, "a used code")
	require.True(t, put(code("five"), now), "the count starts again after a code was used")
	require.True(t, put(code("six"), now))
	require.True(t, put(code("seven"), now))
	require.False(t, put(code("eight"), now))
	require.True(t, put(code("nine"), now.Add(2*time.Hour)), "an hour has passed")
	_, err = b.store.Code(ctx, "other")
	require.NoError(t, err, "a code for another purpose")
	codesAreDeleted(t, b, code, put)
}

// codesAreDeleted by purpose and account and when they are old, and not by a stranger's code.
func codesAreDeleted(t *testing.T, b *bench, code func(string) store.Code, put func(store.Code, time.Time) bool) {
	t.Helper()
	ctx, now := t.Context(), b.clock.Now()
	stranger := code("stranger")
	stranger.Binding = "another browser"
	require.True(t, put(stranger, now))
	_, err := b.store.Code(ctx, "nine")
	require.NoError(t, err, "a stranger's browser replaces nothing")
	require.NoError(t, b.store.DeleteCodes(ctx, "sign-in", "ada@example.com"))
	_, err = b.store.Code(ctx, "other")
	require.ErrorIs(t, err, ledger.ErrNotFound)

	require.NoError(t, b.store.DeleteCodes(ctx, "", "ada@example.com"))
	_, err = b.store.Code(ctx, "nine")
	require.ErrorIs(t, err, ledger.ErrNotFound)
	require.True(t, put(code("ten"), now))
	_, err = b.store.Expire(ctx, now.Add(time.Hour), 100)
	require.NoError(t, err)
	_, err = b.store.Code(ctx, "ten")
	require.ErrorIs(t, err, ledger.ErrNotFound, "old codes are deleted")
}

// webSessions: a session that was deleted is not restored, and all sessions of an account end
// together.
func webSessions(t *testing.T, b *bench) {
	ctx, now := t.Context(), b.clock.Now()
	session := func(hash, subject string) store.WebSession {
		return store.WebSession{Hash: hash, Kind: "email", Subject: subject, Data: []byte("{}"), ExpiresAt: now.Add(time.Hour)}
	}
	for _, s := range []store.WebSession{session("one", "ada"), session("two", "ada"), session("three", "bob")} {
		require.NoError(t, b.store.AddWebSession(ctx, s))
	}
	require.Error(t, b.store.AddWebSession(ctx, session("one", "eve")))
	changed := session("one", "ada")
	changed.Data = []byte(`{"a":1}`)
	require.NoError(t, b.store.SaveWebSession(ctx, changed))
	got, err := b.store.WebSession(ctx, "one")
	require.NoError(t, err)
	require.Equal(t, changed, got)

	require.NoError(t, b.store.DeleteWebSession(ctx, "one"))
	require.NoError(t, b.store.DeleteWebSession(ctx, "one"))
	require.NoError(t, b.store.SaveWebSession(ctx, changed))
	_, err = b.store.WebSession(ctx, "one")
	require.ErrorIs(t, err, ledger.ErrNotFound)

	require.NoError(t, b.store.DeleteWebSessions(ctx, "email", "ada"))
	_, err = b.store.WebSession(ctx, "two")
	require.ErrorIs(t, err, ledger.ErrNotFound)
	_, err = b.store.WebSession(ctx, "three")
	require.NoError(t, err, "another account's session")
	_, err = b.store.Expire(ctx, now.Add(2*time.Hour), 100)
	require.NoError(t, err)
	_, err = b.store.WebSession(ctx, "three")
	require.ErrorIs(t, err, ledger.ErrNotFound)
}

// mandateOwners: an account lists its own mandates alone, the newest first.
func mandateOwners(t *testing.T, b *bench) {
	ctx := t.Context()
	var all []string
	for range 4 {
		all = append(all, b.mandate(t).ID)
		b.clock.set(b.clock.Now().Add(time.Second))
	}
	for _, n := range []int{0, 2, 1, 1} {
		require.NoError(t, b.store.AddMandateOwner(ctx, "email", "ada", all[n]))
	}
	require.NoError(t, b.store.AddMandateOwner(ctx, "email", "ada", "del_without_a_mandate"))
	require.NoError(t, b.store.AddMandateOwner(ctx, "wallet", "ada", all[3]))
	ids, err := b.store.MandatesOfOwner(ctx, "email", "ada", "", 2)
	require.NoError(t, err)
	require.Equal(t, []string{all[2], all[1]}, ids)
	ids, err = b.store.MandatesOfOwner(ctx, "email", "ada", all[1], 2)
	require.NoError(t, err)
	require.Equal(t, []string{all[0]}, ids)
	ids, err = b.store.MandatesOfOwner(ctx, "email", "ada", "del_unknown", 2)
	require.NoError(t, err)
	require.Empty(t, ids)
	owns, err := b.store.OwnsMandate(ctx, "email", "ada", all[3])
	require.NoError(t, err)
	require.False(t, owns)
	require.NoError(t, b.store.DeleteMandateOwner(ctx, "email", "ada"))
	owns, err = b.store.OwnsMandate(ctx, "email", "ada", all[0])
	require.NoError(t, err)
	require.False(t, owns)
	owns, err = b.store.OwnsMandate(ctx, "wallet", "ada", all[3])
	require.NoError(t, err)
	require.True(t, owns)
}
