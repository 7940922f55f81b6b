package groupcommit_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/paywarrant/paywarrant/internal/groupcommit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// disk is a committer whose commits take a second each. It remembers the batches.
type disk struct {
	*groupcommit.Committer[*job]

	mu      sync.Mutex
	batches [][]string
}

type job struct {
	name string
	done bool
}

func start(t *testing.T, batch, queue int) *disk {
	t.Helper()
	d := &disk{}
	d.Committer = groupcommit.New(groupcommit.Config[*job]{Batch: batch, Queue: queue, Commit: d.commit})
	t.Cleanup(d.Close)
	return d
}

func (d *disk) commit(batch []*job) {
	time.Sleep(time.Second)
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for _, j := range batch {
		j.done = true
		names = append(names, j.name)
	}
	d.batches = append(d.batches, names)
}

// do commits a job and requires that it has its result.
func (d *disk) do(t *testing.T, lane, name string) {
	t.Helper()
	j := &job{name: name}
	require.NoError(t, d.Do(t.Context(), lane, j))
	require.True(t, j.done)
}

// queue starts n jobs of a lane, one after the other.
func (d *disk) queue(t *testing.T, all *sync.WaitGroup, lane string, n int) {
	t.Helper()
	for i := range n {
		all.Go(func() { d.do(t, lane, lane+strconv.Itoa(i)) })
		synctest.Wait()
	}
}

func TestIdleCommitterCommitsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := start(t, 10, 0)
		for range 3 {
			began := time.Now()
			d.do(t, "", "a")
			require.Equal(t, time.Second, time.Since(began))
		}
	})
}

func TestJobsThatArriveDuringACommitShareTheNextInTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := start(t, 3, 0)
		var all sync.WaitGroup
		d.queue(t, &all, "a", 6)
		all.Wait()
		require.Equal(t, [][]string{{"a0"}, {"a1", "a2", "a3"}, {"a4", "a5"}}, d.batches)
	})
}

// TestCallersThatReturnAtOnceShareACommit: a batch waits a little for the callers of the
// previous one.
func TestCallersThatReturnAtOnceShareACommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := start(t, 10, 0)
		var all sync.WaitGroup
		d.queue(t, &all, "first", 1)
		for i := range 4 {
			all.Go(func() {
				for range 5 {
					d.do(t, "", "a")
					time.Sleep(time.Duration(i) * time.Millisecond)
				}
			})
		}
		all.Wait()
		require.Len(t, d.batches, 1+5)
	})
}

func TestLanesTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := start(t, 4, 0)
		var all sync.WaitGroup
		d.queue(t, &all, "hot", 10)
		d.queue(t, &all, "cold", 1)
		d.queue(t, &all, "cool", 2)
		all.Wait()
		require.Equal(t, []string{"hot1", "cold0", "cool0", "hot2"}, d.batches[1])
		require.Equal(t, []string{"cool1", "hot3", "hot4", "hot5"}, d.batches[2])
	})
}

func TestFullQueueRefusesJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := start(t, 10, 4)
		var all sync.WaitGroup
		d.queue(t, &all, "first", 1)
		d.queue(t, &all, "a", 3)
		require.ErrorIs(t, d.Do(t.Context(), "a", &job{}), groupcommit.ErrFull, "one lane takes three quarters")
		d.queue(t, &all, "b", 1)
		require.ErrorIs(t, d.Do(t.Context(), "c", &job{}), groupcommit.ErrFull)
		all.Wait()
		d.do(t, "a", "later")
	})
}

func TestQueueWithoutALimitTakesManyJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := start(t, 1000, 0)
		var all sync.WaitGroup
		for range 5000 {
			all.Go(func() { d.do(t, "", "a") })
		}
		all.Wait()
		require.LessOrEqual(t, len(d.batches), 7)
	})
}

func TestClosingCommitsWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := start(t, 2, 0)
		var all sync.WaitGroup
		d.queue(t, &all, "a", 6)
		d.Close()
		d.Close()
		require.ErrorIs(t, d.Do(t.Context(), "", &job{}), groupcommit.ErrClosed)
		all.Wait()
		require.Len(t, d.batches, 4)
	})
}

// TestCallerMayLeave: a caller whose context ends does not wait for its job, which is
// committed all the same; with an ended context nothing is queued.
func TestCallerMayLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := start(t, 10, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.ErrorIs(t, d.Do(ctx, "", &job{name: "left"}), context.DeadlineExceeded)
		require.ErrorIs(t, d.Do(ctx, "", &job{name: "late"}), context.DeadlineExceeded)
		d.Close()
		require.Equal(t, [][]string{{"left"}}, d.batches)
	})
}
