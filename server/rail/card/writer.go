package card

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// maxBatch bounds how many jobs share a commit.
const maxBatch = 64

// writer runs all that changes the database, in one goroutine. Jobs that arrive
// while the disk is busy share the next commit, so the processor answers many
// callers at little more than the price of one. It has a connection for itself,
// and begins and ends transactions by hand: the pool's own way costs a goroutine
// for each and for each query in them.
type writer struct {
	conn     *sql.Conn
	prepared prepared
	jobs     chan *job // not buffered: a job that is taken is answered
	closing  chan struct{}
	closed   chan struct{}
	once     sync.Once
	closeErr error
}

// job is one piece of work. Its answer is sent once it is on disk.
type job struct {
	ctx  context.Context //nolint:containedctx // the caller's: a job whose caller left before it began is skipped
	run  func(context.Context, *transaction) error
	done chan error
}

func startWriter(ctx context.Context, db *database) (*writer, error) {
	conn, err := db.Write.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	all, err := prepare(ctx, conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	w := &writer{conn: conn, prepared: all, jobs: make(chan *job), closing: make(chan struct{}), closed: make(chan struct{})}
	go w.loop(context.WithoutCancel(ctx))
	return w, nil
}

// write runs a job and answers when its effects are durable. Errors: run's own;
// [ErrClosed], and nothing was done; ctx's error or the database's, and then it
// is unknown whether anything was.
func write[T any](ctx context.Context, w *writer, run func(context.Context, *transaction) (T, error)) (T, error) {
	var result, none T
	j := &job{ctx: ctx, done: make(chan error, 1)}
	j.run = func(ctx context.Context, tx *transaction) (err error) {
		result, err = run(ctx, tx)
		return err
	}
	select {
	case w.jobs <- j:
	case <-w.closing:
		return none, ErrClosed
	case <-ctx.Done():
		return none, ctx.Err()
	}
	select {
	case err := <-j.done:
		if err != nil {
			return none, err
		}
		return result, nil
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

func (w *writer) loop(ctx context.Context) {
	defer close(w.closed)
	for {
		select {
		case first := <-w.jobs:
			w.commit(ctx, w.gather(first))
		case <-w.closing:
			return
		}
	}
}

// gather takes the jobs that wait already. Callers mostly come together, since what
// they did before was committed together: those that are about to ask are let ahead.
func (w *writer) gather(first *job) []*job {
	runtime.Gosched()
	batch := []*job{first}
	for len(batch) < maxBatch {
		select {
		case next := <-w.jobs:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// commit runs a batch in one transaction and answers each job.
func (w *writer) commit(ctx context.Context, batch []*job) {
	answers := make([]error, len(batch))
	err := w.transact(ctx, batch, answers)
	for i, j := range batch {
		if err != nil {
			j.done <- err
		} else {
			j.done <- answers[i]
		}
	}
}

// transact runs the jobs. An error is the database's and stands for all of them;
// what a job itself refuses is in answers.
func (w *writer) transact(ctx context.Context, batch []*job, answers []error) error {
	if _, err := w.prepared[begin].ExecContext(ctx); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	committed := false
	defer func() {
		if !committed { // it may have been rolled back already, which is no error
			_, _ = w.prepared[rollback].ExecContext(ctx)
		}
	}()
	tx := &transaction{prepared: w.prepared}
	for i, j := range batch {
		if answers[i] = j.ctx.Err(); answers[i] != nil {
			continue
		}
		if answers[i] = j.run(ctx, tx); tx.broken != nil {
			return tx.broken
		}
	}
	if _, err := w.prepared[commit].ExecContext(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	return nil
}

// close ends the goroutine after the batch at hand, and gives the connection back.
// It may be called twice.
func (w *writer) close() error {
	w.once.Do(func() {
		close(w.closing)
		<-w.closed
		w.closeErr = w.conn.Close()
	})
	return w.closeErr
}
