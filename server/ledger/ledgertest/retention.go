package ledgertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/internal/id"
	"github.com/paywarrant/paywarrant/server/ledger"
)

// retention: what is of no more use goes after thirty days, and nothing else.
func retention(t *testing.T, b *bench) {
	ctx := t.Context()
	m := b.mandate(t, b.terms(100*cent, 1000*cent))
	used := b.request(m, 10*cent)
	first, err := b.Reserve(ctx, used)
	require.NoError(t, err)
	b.settle(t, first.Charge, succeeded())
	b.refused(t, b.request(m, 101*cent), ledger.PerTxLimit)
	held := b.request(m, 20*cent)
	_, err = b.Reserve(ctx, held)
	require.NoError(t, err)
	abandoned := b.session(t, m.Terms)
	done := b.session(t, m.Terms)
	_, err = b.CompleteSession(ctx, ledger.Completion{
		SessionHash: done.Hash, MandateID: "del_done", Terms: done.Terms, SealedToken: []byte("sealed"),
	})
	require.NoError(t, err)
	events := b.eventsOf(t, m)
	require.Len(t, events, 2)

	b.clock.set(b.clock.Now().Add(ledger.Keep))
	n, err := b.Expire(ctx, b.clock.Now())
	require.NoError(t, err)
	require.Zero(t, n, "thirty days are kept in full")

	b.clock.set(b.clock.Now().Add(2 * 24 * time.Hour))
	_, err = b.Expire(ctx, b.clock.Now())
	require.NoError(t, err)
	require.Empty(t, b.eventsOf(t, m))
	_, err = b.Session(ctx, abandoned.Hash)
	require.ErrorIs(t, err, ledger.ErrNotFound)
	kept, err := b.Session(ctx, done.Hash)
	require.NoError(t, err)
	require.Equal(t, "del_done", kept.MandateID)
	require.Empty(t, kept.SealedToken)

	again := held
	again.ChargeID = id.New(id.Charge, b.clock.Now())
	r, err := b.Reserve(ctx, again)
	require.NoError(t, err)
	require.True(t, r.Replayed, "the key of a charge that is still pending is kept")
	used.ChargeID = id.New(id.Charge, b.clock.Now())
	r, err = b.Reserve(ctx, used)
	require.NoError(t, err)
	require.False(t, r.Replayed, "the key may be used again")
	_, err = b.Charge(ctx, first.Charge.ID)
	require.NoError(t, err, "charges are kept")
	n, err = b.Expire(ctx, b.clock.Now())
	require.NoError(t, err)
	require.Zero(t, n)
	b.sound(t)
}

// expiryInBatches: more rows than one batch holds are all deleted.
func expiryInBatches(t *testing.T, b *bench) {
	m := b.mandate(t, b.terms(100*cent, 10_000*cent))
	together(32, func(int) {
		for range 40 {
			r := b.request(m, 101*cent)
			if _, err := b.Reserve(t.Context(), r); err == nil {
				t.Error("too much was not refused")
			}
		}
	})
	b.clock.set(b.clock.Now().Add(ledger.Keep + time.Second))
	n, err := b.Expire(t.Context(), b.clock.Now())
	require.NoError(t, err)
	require.Equal(t, 32*40+2, n, "and the token of the session, and the event")
	b.sound(t)
}

func (b *bench) eventsOf(t *testing.T, m ledger.Mandate) (events []ledger.Event) {
	t.Helper()
	require.NoError(t, b.Audit(t.Context(), func(a ledger.Audit) (err error) {
		events, err = a.EventsSince(t.Context(), map[string]int64{m.ID: 0}, 1000)
		return err
	}))
	return events
}
