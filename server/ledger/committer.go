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
	// batchSize is how many commands share one commit at most.
	batchSize = 256
	// gatherFor is the part of the last commit's time that a batch waits for
	// callers that the last one has answered: each of those mostly has more to do.
	gatherFor = 8 // an eighth
	// conflictRetries is how often a batch is run again because another instance
	// inserted a row of it first.
	conflictRetries = 5
	// commitTimeout bounds one commit, whoever waits for it.
	commitTimeout = 30 * time.Second
)

// committer commits commands in batches. Those that come while a commit is under
// way share the next one; an idle one commits at once.
type committer struct {
	store Store
	queue *queue
	done  chan struct{}
	// onPanic reports a panic. Nil: panics are not reported.
	onPanic func(value any, stack []byte)
}

func newCommitter(store Store, queued int, onPanic func(value any, stack []byte)) *committer {
	c := &committer{store: store, queue: newQueue(queued), done: make(chan struct{}), onPanic: onPanic}
	go c.run()
	return c
}

// submit waits for the command about a row to be decided and committed. A ctx
// that ends sooner leaves it to be committed or not: only before it was queued is
// it certain that nothing happens.
func (c *committer) submit(ctx context.Context, of string, cmd *command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd.done = make(chan struct{})
	if err := c.queue.push(of, cmd); err != nil {
		return err
	}
	select {
	case <-cmd.done:
		return cmd.err
	case <-ctx.Done():
		return fmt.Errorf("wait for commit: %w", ctx.Err())
	}
}

// close commits what waits and ends.
func (c *committer) close() {
	c.queue.close()
	<-c.done
}

func (c *committer) run() {
	defer close(c.done)
	var (
		busy int           // commands that were in hand or waiting at the end of the last commit
		took time.Duration // by it
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

// gather makes a batch of what waits. Where several commands were in hand at the
// end of the last commit, it waits until as many are again, but not for long:
// those callers mostly have more to do, and one commit for all is sooner done than
// one for the quickest and one for the others. After a command alone there is no
// wait.
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

// commit runs a batch, and answers its commands.
func (c *committer) commit(batch []*command) {
	c.split(batch)
	failpoint.Hit(failpoint.BatchCommitted)
	for _, cmd := range batch {
		close(cmd.done)
	}
}

// split runs a batch; if it fails as a whole it runs each half alone, so that one
// bad command fails alone and costs the others a few commits and not one each. A
// store that does not work now fails all of them at once.
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

// update runs a batch in one transaction. A panic, of a decision or of the store, is
// an error, and is reported.
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
