package ledger_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/server/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slow is a store whose commits take a second each, and which remembers what each
// of them was about. It keeps nothing: it stands for the disk.
type slow struct {
	ledger.Store

	mu      sync.Mutex
	batches [][]string
	full    chan error // what the next commits return; nil when empty
}

func (s *slow) Writers() int { return 1 }

func (s *slow) Update(_ context.Context, keys ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	state := &ledger.State{Sessions: map[string]ledger.Session{}, Mandates: map[string]ledger.Mandate{}}
	for _, id := range keys.Mandates {
		state.Mandates[id] = ledger.Mandate{ID: id, Status: ledger.MandateActive}
	}
	if _, err := decide(state); err != nil {
		return err
	}
	time.Sleep(time.Second)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, keys.Mandates)
	select {
	case err := <-s.full:
		return err
	default:
		return nil
	}
}

// InstrumentsOfMandate implements ledger.Reader.
func (s *slow) InstrumentsOfMandate(context.Context, string) ([]ledger.Instrument, error) {
	return nil, nil
}

type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func start(t *testing.T, store ledger.Store, queue int) *ledger.Ledger {
	t.Helper()
	l, err := ledger.New(ledger.Config{Store: store, Clock: wall{}.Now, Queue: queue})
	require.NoError(t, err)
	return l
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for wrong, cfg := range map[string]ledger.Config{
		"Store":      {},
		"Clock":      {Store: &slow{}},
		"Committers": {Store: &slow{}, Clock: wall{}.Now, Committers: 65},
		"Queue":      {Store: &slow{}, Clock: wall{}.Now, Queue: -1},
	} {
		_, err := ledger.New(cfg)
		require.ErrorContains(t, err, wrong)
	}
}

// TestAnIdleLedgerCommitsAtOnce: a command alone waits for its own commit only.
func TestAnIdleLedgerCommitsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := start(t, &slow{}, 0)
		defer l.Close()
		for range 3 {
			began := time.Now()
			_, err := l.Revoke(t.Context(), "del_1", ledger.RevokedByUser)
			require.NoError(t, err)
			require.Equal(t, time.Second, time.Since(began))
		}
	})
}

// TestAFullQueueRefusesAtOnceAndLosesNothing: back-pressure.
func TestAFullQueueRefusesAtOnceAndLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slow{}
		l := start(t, store, 8)
		defer l.Close()
		var (
			all                sync.WaitGroup
			mu                 sync.Mutex
			done, busy, others int
		)
		submit := func(mandate string) {
			all.Go(func() {
				began := time.Now()
				_, err := l.Revoke(t.Context(), mandate, ledger.RevokedByUser)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil && mandate != "hot":
					others++
				case err == nil:
					done++
				default:
					require.ErrorIs(t, err, ledger.ErrBusy)
					require.Zero(t, time.Since(began), "a refusal does not wait")
					busy++
				}
			})
			synctest.Wait()
		}
		for range 100 {
			submit("hot")
		}
		submit("cold 1")
		submit("cold 2")
		submit("cold 3") // the queue as a whole is full now
		all.Wait()
		require.Equal(t, 1+6, done, "one at work and three quarters of the queue")
		require.Equal(t, 2, others, "the rest of the queue is for others")
		require.Equal(t, 93+1, busy)
		submit("hot")
		all.Wait()
		require.Equal(t, 8, done, "when the queue is empty again, it takes more")
	})
}

// TestOneHotMandateDoesNotHoldUpOthers: fairness.
func TestOneHotMandateDoesNotHoldUpOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := start(t, &slow{}, 0)
		defer l.Close()
		var all sync.WaitGroup
		submit := func(mandate string) (took time.Duration) {
			began := time.Now()
			_, err := l.Revoke(t.Context(), mandate, ledger.RevokedByUser)
			require.NoError(t, err)
			return time.Since(began)
		}
		for range 3000 { // more than ten batches
			all.Go(func() { submit("hot") })
		}
		synctest.Wait()
		for i := range 20 {
			all.Go(func() {
				require.LessOrEqual(t, submit("cold "+strconv.Itoa(i)), 3*time.Second, "it is in the next batch")
			})
		}
		all.Wait()
	})
}

// TestADatabaseThatIsDownFailsAllThatWaitAtOnce: not each after a wait of its own.
func TestADatabaseThatIsDownFailsAllThatWaitAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slow{full: make(chan error, 1)}
		l := start(t, store, 0)
		defer l.Close()
		var all sync.WaitGroup
		all.Go(func() {
			_, err := l.Revoke(t.Context(), "first", ledger.RevokedByUser)
			require.ErrorIs(t, err, ledger.ErrUnavailable)
		})
		synctest.Wait()
		store.full <- ledger.ErrUnavailable
		all.Wait()
		store.full <- ledger.ErrUnavailable
		for range 50 {
			all.Go(func() {
				_, err := l.Revoke(t.Context(), "more", ledger.RevokedByUser)
				if err != nil {
					require.ErrorIs(t, err, ledger.ErrUnavailable)
				}
			})
		}
		all.Wait()
		require.LessOrEqual(t, len(store.batches), 3)
	})
}

// TestClosingCommitsWhatWaits: nothing that was taken is dropped.
func TestClosingCommitsWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := start(t, &slow{}, 0)
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				_, err := l.Revoke(t.Context(), "del_"+strconv.Itoa(i), ledger.RevokedByUser)
				require.NoError(t, err)
			})
		}
		synctest.Wait()
		l.Close()
		_, err := l.Revoke(t.Context(), "late", ledger.RevokedByUser)
		require.ErrorIs(t, err, ledger.ErrClosed)
		all.Wait()
	})
}

// choosy is a store that fails every transaction with a bad mandate in it, or panics.
type choosy struct {
	ledger.Store

	mu      sync.Mutex
	commits int
	panics  bool
	release chan struct{} // the first transaction waits for it
}

func (c *choosy) Writers() int { return 1 }

func (c *choosy) Update(_ context.Context, keys ledger.Keys, decide func(*ledger.State) (ledger.Effects, error)) error {
	<-c.release
	state := &ledger.State{Sessions: map[string]ledger.Session{}, Mandates: map[string]ledger.Mandate{}}
	for _, id := range keys.Mandates {
		state.Mandates[id] = ledger.Mandate{ID: id, Status: ledger.MandateActive}
	}
	if _, err := decide(state); err != nil {
		return err
	}
	c.mu.Lock()
	c.commits++
	c.mu.Unlock()
	for _, id := range keys.Mandates {
		switch {
		case id == "bad" && c.panics:
			panic("a row that cannot be written")
		case id == "bad":
			return ledger.ErrInvariant
		}
	}
	return nil
}

// InstrumentsOfMandate implements ledger.Reader.
func (c *choosy) InstrumentsOfMandate(context.Context, string) ([]ledger.Instrument, error) {
	return nil, nil
}

// together revokes 255 good mandates and a bad one in one batch.
func together(t *testing.T, store *choosy, onPanic func(any, []byte)) (good int, bad error) {
	t.Helper()
	store.release = make(chan struct{})
	l, err := ledger.New(ledger.Config{Store: store, Clock: wall{}.Now, OnPanic: onPanic})
	require.NoError(t, err)
	defer l.Close()
	errs := make(chan error, 256)
	var all sync.WaitGroup
	for i := range 256 {
		all.Go(func() {
			id := strconv.Itoa(i)
			if i == 100 {
				id = "bad"
			}
			_, err := l.Revoke(context.Background(), id, ledger.RevokedByUser)
			errs <- err
		})
	}
	time.Sleep(time.Second) // all wait, the first of them in its transaction
	close(store.release)
	all.Wait()
	close(errs)
	for err := range errs {
		if err == nil {
			good++
		} else {
			bad = err
		}
	}
	return good, bad
}

// TestOneBadCommandFailsAlone, and does not cost each of the others a commit.
func TestOneBadCommandFailsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &choosy{}
		good, bad := together(t, store, nil)
		require.Equal(t, 255, good)
		require.ErrorIs(t, bad, ledger.ErrInvariant)
		require.Less(t, store.commits, 24, "halves, not single commits")
	})
}

// TestPanicInACommandFailsItAlone: and is reported, and the ledger lives.
func TestPanicInACommandFailsItAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reported := 0
		store := &choosy{panics: true}
		good, bad := together(t, store, func(value any, stack []byte) {
			reported++
			require.Equal(t, "a row that cannot be written", value)
			require.Contains(t, string(stack), "ledger_test")
		})
		require.Equal(t, 255, good)
		require.ErrorIs(t, bad, ledger.ErrPanicked)
		require.Positive(t, reported)
	})
}
