package storetest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/store"
)

// mails: a message is queued once, of many callers one gets an attempt, and the longest due
// comes first.
func mails(t *testing.T, b *bench) {
	ctx, now := t.Context(), b.clock.Now().Truncate(time.Millisecond).UTC()
	first := store.Mail{Kind: "confirmation", SubjectID: "mdt_1", CreatedAt: now, Due: now}
	second := store.Mail{Kind: "confirmation", SubjectID: "mdt_2", CreatedAt: now, Due: now.Add(-time.Second)}
	later := store.Mail{Kind: "disabled", SubjectID: "mdt_1", CreatedAt: now, Due: now.Add(time.Hour)}
	for _, m := range []store.Mail{first, second, later} {
		require.NoError(t, b.store.AddMail(ctx, m))
	}
	again := first
	again.Due, again.CreatedAt = now.Add(time.Hour), now.Add(time.Minute)
	require.NoError(t, b.store.AddMail(ctx, again))
	due, err := b.store.DueMails(ctx, now, 10)
	require.NoError(t, err)
	require.Equal(t, []store.Mail{second}, due, "a message that is queued again is due when asked")
	require.NoError(t, b.store.HastenMail(ctx, first.Kind, first.SubjectID, now))
	require.NoError(t, b.store.HastenMail(ctx, first.Kind, "mdt_none", now))
	due, err = b.store.DueMails(ctx, now, 10)
	require.NoError(t, err)
	require.Equal(t, []store.Mail{second, first}, due)
	due, err = b.store.DueMails(ctx, now, 1)
	require.NoError(t, err)
	require.Equal(t, []store.Mail{second}, due)

	var all sync.WaitGroup
	var got atomic.Int32
	for range 8 {
		all.Go(func() {
			done, err := b.store.PutOffMail(ctx, first, now.Add(time.Minute))
			if err != nil {
				t.Error(err)
			}
			if done {
				got.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 1, got.Load())
	due, err = b.store.DueMails(ctx, now.Add(time.Minute), 10)
	require.NoError(t, err)
	first.Attempts, first.Due = 1, now.Add(time.Minute)
	require.Equal(t, []store.Mail{second, first}, due)

	require.NoError(t, b.store.HastenMail(ctx, first.Kind, first.SubjectID, now))
	queuedAgain := first
	queuedAgain.Due = now.Add(30 * time.Second)
	require.NoError(t, b.store.AddMail(ctx, queuedAgain))
	require.NoError(t, b.store.DeleteMail(ctx, first))
	due, err = b.store.DueMails(ctx, now.Add(time.Minute), 10)
	require.NoError(t, err)
	require.Equal(t, []store.Mail{second, queuedAgain}, due, "an earlier attempt deletes nothing that was queued again")
	require.NoError(t, b.store.DeleteMail(ctx, queuedAgain))
	require.NoError(t, b.store.DeleteMail(ctx, queuedAgain))
	done, err := b.store.PutOffMail(ctx, first, now)
	require.NoError(t, err)
	require.False(t, done)
	due, err = b.store.DueMails(ctx, now.Add(2*time.Hour), 10)
	require.NoError(t, err)
	require.Equal(t, []store.Mail{second, later}, due)
}
