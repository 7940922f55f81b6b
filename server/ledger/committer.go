package ledger

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/internal/groupcommit"
)

const (
	// batchSize limits the commands that share a commit.
	batchSize = 256
	// conflictRetries limits the retries of a batch after another instance inserted one of
	// its rows.
	conflictRetries = 5
	// commitTimeout limits one commit.
	commitTimeout = 30 * time.Second
)

// committer commits commands in batches, with one lane per row, usually a mandate: a
// mandate with many waiting commands does not delay the others.
type committer struct {
	*groupcommit.Committer[*command]

	store Store
	// onPanic reports a panic. Default: none.
	onPanic func(value any, stack []byte)
}

func newCommitter(store Store, queued int, onPanic func(value any, stack []byte)) *committer {
	c := &committer{store: store, onPanic: onPanic}
	c.Committer = groupcommit.New(groupcommit.Config[*command]{Commit: c.commit, Batch: batchSize, Queue: queued})
	return c
}

// submit queues a command about a row and waits until it is committed. If ctx ends after
// the command was queued, it is unknown whether the command is committed.
func (c *committer) submit(ctx context.Context, row string, cmd *command) error {
	err := c.Do(ctx, row, cmd)
	switch {
	case errors.Is(err, groupcommit.ErrFull):
		return ErrBusy
	case errors.Is(err, groupcommit.ErrClosed):
		return ErrClosed
	case err != nil:
		return err
	}
	return cmd.err
}

// commit runs a batch and stores the error of each command in it.
func (c *committer) commit(batch []*command) {
	failpoint.Hit(failpoint.BatchTaken)
	c.split(batch)
	failpoint.Hit(failpoint.BatchCommitted)
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
