// Package groupcommit lets concurrent callers share commits. Jobs that arrive during a
// commit share the next one; an idle committer commits at once.
//
//	c := groupcommit.New(groupcommit.Config[*job]{Batch: 64, Commit: func(batch []*job) {
//		… // one transaction; each job keeps its own result
//	}})
//	defer c.Close()
//	err := c.Do(ctx, accountID, j) // nil: Commit has returned, and j has its result
//
// The package retries nothing and reads no results.
package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// gatherFor is the divisor of the last commit's duration for which a batch waits for
// further jobs: callers that just received a result usually have another job.
const gatherFor = 8

// Errors of [Committer.Do].
var (
	// ErrFull reports a full queue. The job is not queued.
	ErrFull = errors.New("groupcommit: queue is full")
	// ErrClosed reports a closed committer. The job is not queued.
	ErrClosed = errors.New("groupcommit: closed")
)

// Config configures a [Committer].
type Config[J any] struct {
	// Commit commits a batch. It is never called concurrently. Required.
	Commit func(batch []J)
	// Batch limits the jobs of a batch. Required.
	Batch int
	// Queue limits the waiting jobs. At most three quarters may be in one lane. Default: no
	// limit.
	Queue int
}

// Committer commits jobs in batches, in a goroutine of its own. It is safe for concurrent
// use.
type Committer[J any] struct {
	commit func(batch []J)
	batch  int
	queue  *queue[J]
	done   chan struct{}
}

// New returns a Committer and starts it; Close ends it.
func New[J any](cfg Config[J]) *Committer[J] {
	c := &Committer[J]{commit: cfg.Commit, batch: cfg.Batch, queue: newQueue[J](cfg.Queue), done: make(chan struct{})}
	go c.run()
	return c
}

// Do queues a job and waits until Commit has returned for its batch. Jobs of one lane are
// committed in order, and lanes take turns. Do returns [ErrFull], [ErrClosed] or the error
// of ctx. If ctx ends after the job was queued, it is unknown whether it is committed.
func (c *Committer[J]) Do(ctx context.Context, lane string, job J) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e := entry[J]{job: job, done: make(chan struct{})}
	if err := c.queue.push(lane, e); err != nil {
		return err
	}
	select {
	case <-e.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for commit: %w", ctx.Err())
	}
}

// Close refuses further jobs, commits those that wait, and returns when that is done. It may
// be called twice.
func (c *Committer[J]) Close() {
	c.queue.close()
	<-c.done
}

func (c *Committer[J]) run() {
	defer close(c.done)
	var (
		busy int           // jobs in the last batch or waiting at its end
		took time.Duration // duration of the last commit
	)
	for !c.queue.ended() {
		batch := c.gather(busy, took/gatherFor)
		if len(batch) == 0 {
			<-c.queue.wake
			continue
		}
		jobs := make([]J, len(batch))
		for i, e := range batch {
			jobs[i] = e.job
		}
		start := time.Now()
		c.commit(jobs)
		for _, e := range batch {
			close(e.done)
		}
		busy, took = len(batch)+c.queue.len(), time.Since(start)
	}
}

// gather returns the next batch. If several jobs were busy at the end of the last commit, it
// waits up to an eighth of that commit's duration for as many: their callers usually send
// another job, and one commit for all of them is faster than two. After a single job it
// does not wait.
func (c *Committer[J]) gather(busy int, wait time.Duration) []entry[J] {
	batch := c.queue.take(c.batch)
	busy = min(busy, c.batch)
	if len(batch) == 0 || len(batch) >= busy {
		return batch
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for len(batch) < busy {
		select {
		case <-c.queue.wake:
			batch = append(batch, c.queue.take(c.batch-len(batch))...)
			if c.queue.ended() {
				return batch
			}
		case <-timer.C:
			return batch
		}
	}
	return batch
}
