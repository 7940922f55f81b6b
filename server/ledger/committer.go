package ledger

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
)

const (
	// batchSize limits the commands that share a commit.
	batchSize = 256
	// gatherFor is the divisor of the last commit's duration for which a batch waits for
	// further commands: callers that were just answered usually send another one.
	gatherFor = 8
	// conflictRetries limits the retries of a batch after another instance inserted one of
	// its rows.
	conflictRetries = 5
	// commitTimeout limits one commit.
	commitTimeout = 30 * time.Second
)

// committer commits commands in batches. Commands that arrive during a commit share the
// next one; an idle committer commits at once.
type committer struct {
	store Store
	queue *queue
	done  chan struct{}
	// onPanic reports a panic. Default: none.
	onPanic func(value any, stack []byte)
}

func newCommitter(store Store, queued int, onPanic func(value any, stack []byte)) *committer {
	c := &committer{store: store, queue: newQueue(queued), done: make(chan struct{}), onPanic: onPanic}
	go c.run()
	return c
}

// submit queues a command about a row and waits until it is committed. If ctx ends after
// the command was queued, it is unknown whether the command is committed.
func (c *committer) submit(ctx context.Context, row string, cmd *command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd.done = make(chan struct{})
	if err := c.queue.push(row, cmd); err != nil {
		return err
	}
	select {
	case <-cmd.done:
		return cmd.err
	case <-ctx.Done():
		return fmt.Errorf("wait for commit: %w", ctx.Err())
	}
}

// close commits the waiting commands and ends the committer.
func (c *committer) close() {
	c.queue.close()
	<-c.done
}

func (c *committer) run() {
	defer close(c.done)
	var (
		busy int           // commands in the last batch or waiting at its end
		took time.Duration // duration of the last commit
	)
	for !c.queue.ended() {
		batch := c.gather(busy, took/gatherFor)
		if len(batch) == 0 {
			<-c.queue.wake
			continue
		}
		start := time.Now()
		failpoint.Hit(failpoint.BatchTaken)
		c.commit(batch)
		busy, took = len(batch)+c.queue.len(), time.Since(start)
	}
}

// gather returns the next batch. If several commands were busy at the end of the last
// commit, it waits up to an eighth of that commit's duration for as many: their callers
// usually send another command, and one commit for all of them is faster than two. After
// a single command it does not wait.
func (c *committer) gather(busy int, wait time.Duration) []*command {
	batch := c.queue.take(batchSize)
	busy = min(busy, batchSize)
	if len(batch) == 0 || len(batch) >= busy {
		return batch
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for len(batch) < busy {
		select {
		case <-c.queue.wake:
			batch = append(batch, c.queue.take(batchSize-len(batch))...)
			if c.queue.ended() {
				return batch
			}
		case <-timer.C:
			return batch
		}
	}
	return batch
}

// commit runs a batch and reports the results to its commands.
func (c *committer) commit(batch []*command) {
	c.split(batch)
	failpoint.Hit(failpoint.BatchCommitted)
	for _, cmd := range batch {
		close(cmd.done)
	}
}

// split runs a batch. If the batch fails, split runs each half separately, so that one bad
// command fails alone and costs the others only a few commits. If the store is
// unavailable, all fail at once.
func (c *committer) split(batch []*command) {
	err := c.update(batch)
	down := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnavailable)
	switch {
	case err == nil:
	case len(batch) == 1 || down:
		for _, cmd := range batch {
			cmd.err = err
		}
	default:
		c.split(batch[:len(batch)/2])
		c.split(batch[len(batch)/2:])
	}
}

// update runs a batch in one transaction. It reports a panic of a decision or of the store,
// and returns it as an error.
func (c *committer) update(batch []*command) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = c.panicked(v)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		err := c.store.Update(ctx, keysOf(batch), func(s *State) (Effects, error) {
			return decideAll(s, batch)
		})
		if attempt == conflictRetries || !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// panicked reports a panic, and returns it as an error.
func (c *committer) panicked(v any) error {
	if c.onPanic != nil {
		c.onPanic(v, debug.Stack())
	}
	return fmt.Errorf("%w: %v", ErrPanicked, v)
}
