package ledgertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// RunDisturbed charges from several callers while disturb does something to the
// database again and again: restarts it, cuts connections, ends transactions.
// Callers receive nothing but [ledger.ErrUnavailable], and repeat the command,
// as clients do; afterwards every charge was made once and the ledger is sound.
// Disturb returns when the database is as it should be again.
func RunDisturbed(t *testing.T, database Database, times int, disturb func(ctx context.Context) error) {
	t.Helper()
	const callers = 8
	b := setup(t, database)
	mandates := make([]ledger.Mandate, 3)
	for i := range mandates {
		mandates[i] = b.mandate(t, b.terms(100*cent, 10_000_000*cent))
	}
	w := &disturbed{bench: b}
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					w.charge(t, mandates[i%len(mandates)])
				}
			}
		})
	}
	for range times {
		w.untilCharged(t, 5*callers)
		if err := disturb(t.Context()); err != nil {
			t.Error(err)
			break
		}
	}
	w.untilCharged(t, 5*callers)
	close(stop)
	all.Wait()
	w.insist(t, func() error { // connections that read may be broken, too
		_, err := ledger.Check(t.Context(), b.store)
		return err
	})
	r := b.sound(t)
	require.Equal(t, []int{w.made, 0, 0}, []int{r.Succeeded, r.Failed, r.Pending})
	var spent ledger.Micros
	for _, m := range mandates {
		spent += b.spent(t, m)
	}
	require.Equal(t, ledger.Micros(w.made)*cent, spent)
	t.Logf("%d charges, %d commands done again", w.made, w.repeated)
}

// disturbed charges in spite of all.
type disturbed struct {
	*bench

	mu       sync.Mutex
	made     int
	repeated int
}

// charge makes one charge, however often that takes.
func (w *disturbed) charge(t *testing.T, m ledger.Mandate) {
	r := w.request(m, cent)
	var c ledger.Charge
	if !w.insist(t, func() error {
		made, err := w.Reserve(context.Background(), r)
		c = made.Charge
		return err
	}) || !w.insist(t, func() error {
		_, err := w.Settle(context.Background(), c, succeeded())
		return err
	}) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
}

// insist does a command until it is done; false if it never is.
func (w *disturbed) insist(t *testing.T, command func() error) bool {
	for range 1000 {
		err := command()
		if err == nil {
			return true
		}
		if !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("callers get: %v", err)
			return false
		}
		w.mu.Lock()
		w.repeated++
		w.mu.Unlock()
	}
	t.Error("a command is never done")
	return false
}

// untilCharged waits until that many more charges were made.
func (w *disturbed) untilCharged(t *testing.T, more int) {
	t.Helper()
	count := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.made
	}
	goal := count() + more
	require.Eventually(t, func() bool { return count() >= goal || t.Failed() }, time.Minute, time.Millisecond)
}

// RunFullDisk fills the disk under charges. What cannot be made durable is an
// error, [ledger.ErrUnavailable]; reads go on; and when there is space again so do
// charges, without a restart. limit makes writes fail as on a disk that is full,
// and lift ends that.
func RunFullDisk(t *testing.T, database Database, limit, lift func() error) {
	t.Helper()
	ctx := t.Context()
	b := setup(t, database)
	m := b.mandate(t, b.terms(100*cent, 10_000_000*cent))
	made := []string{b.reserve(t, m, cent).ID}
	require.NoError(t, limit())
	var failed []ledger.Reserve
	for i := 0; len(failed) < 5; i++ {
		require.Less(t, i, 100_000, "the disk never fills")
		r := b.request(m, cent)
		if _, err := b.Reserve(ctx, r); err != nil {
			require.ErrorIs(t, err, ledger.ErrUnavailable)
			failed = append(failed, r)
			continue
		}
		made = append(made, r.ChargeID)
	}
	for _, id := range made {
		c, err := b.Charge(ctx, id)
		require.NoError(t, err, "reads go on")
		require.Equal(t, ledger.ChargePending, c.Status)
	}
	require.Equal(t, ledger.Micros(len(made))*cent, b.spent(t, m), "what failed left nothing behind")
	require.NoError(t, lift())
	for _, r := range failed {
		_, err := b.Reserve(ctx, r)
		require.NoError(t, err, "there is room again")
	}
	require.Equal(t, len(made)+len(failed), b.sound(t).Pending)
}
