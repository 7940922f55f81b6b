package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// queueSize is how many commands may wait at one committer.
	queueSize = 4096
	// batchSize is how many commands share one commit at most.
	batchSize = 256
	// conflictRetries is how often a batch is run again because another instance
	// inserted a row of it first.
	conflictRetries = 5
	// commitTimeout bounds one commit, whoever waits for it.
	commitTimeout = 30 * time.Second
)

// committer commits commands in the order in which they come. Those that come
// while a commit is under way share the next one; an idle one commits at once.
type committer struct {
	store Store
	queue chan *command
	done  chan struct{}
}

func newCommitter(store Store) *committer {
	c := &committer{store: store, queue: make(chan *command, queueSize), done: make(chan struct{})}
	go c.run()
	return c
}

// submit waits for the command to be decided and committed. A ctx that ends
// sooner leaves it to be committed or not: only before it was queued is it
// certain that nothing happens.
func (c *committer) submit(ctx context.Context, cmd *command) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd.done = make(chan struct{})
	select {
	case c.queue <- cmd:
	default:
		return ErrBusy
	}
	select {
	case <-cmd.done:
		return cmd.err
	case <-ctx.Done():
		return fmt.Errorf("wait for commit: %w", ctx.Err())
	}
}

func (c *committer) run() {
	defer close(c.done)
	for first := range c.queue {
		batch := []*command{first}
		for len(batch) < batchSize && len(c.queue) > 0 {
			batch = append(batch, <-c.queue)
		}
		c.commit(batch)
	}
}

// commit runs a batch, and where it fails as a whole each command of it alone,
// so that one bad command harms no other. A store that does not work now fails
// all of them at once.
func (c *committer) commit(batch []*command) {
	down := func(err error) bool {
		return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUnavailable)
	}
	if err := c.update(batch); err != nil && len(batch) > 1 && !down(err) {
		for _, cmd := range batch {
			c.commit([]*command{cmd})
		}
		return
	} else if err != nil {
		for _, cmd := range batch {
			cmd.err = err
		}
	}
	for _, cmd := range batch {
		close(cmd.done)
	}
}

func (c *committer) update(batch []*command) error {
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
