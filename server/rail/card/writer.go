package card

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"github.com/paywarrant/paywarrant/internal/groupcommit"
)

// maxBatch limits the jobs that share a commit.
const maxBatch = 64

// writer runs everything that changes the database, in one goroutine. Jobs that arrive
// during a commit share the next one, so many callers cost little more than one. The
// writer has its own connection, and begins and ends transactions itself: database/sql
// would start a goroutine for each transaction and for each query in it.
type writer struct {
	*groupcommit.Committer[*job]

	conn     *sql.Conn
	prepared prepared
	closing  chan struct{}
	once     sync.Once
	closeErr error
}

// job is one piece of work. err is its result once it is on disk.
type job struct {
	ctx context.Context //nolint:containedctx // the caller's: a job whose caller left before it began is skipped
	run func(context.Context, *transaction) error
	err error
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
	w := &writer{conn: conn, prepared: all, closing: make(chan struct{})}
	ctx = context.WithoutCancel(ctx)
	w.Committer = groupcommit.New(groupcommit.Config[*job]{Batch: maxBatch, Commit: func(batch []*job) { w.commit(ctx, batch) }})
	return w, nil
}

// write runs a job and returns when its effects are durable. It returns run's error;
// [ErrClosed], if nothing was done; and ctx's error or the database's, after which it is
// unknown whether the job was done.
func write[T any](ctx context.Context, w *writer, run func(context.Context, *transaction) (T, error)) (T, error) {
	var result, none T
	j := &job{ctx: ctx}
	j.run = func(ctx context.Context, tx *transaction) (err error) {
		result, err = run(ctx, tx)
		return err
	}
	err := w.Do(ctx, "", j)
	switch {
	case errors.Is(err, groupcommit.ErrClosed):
		return none, ErrClosed
	case err != nil:
		return none, err
	case j.err != nil:
		return none, j.err
	}
	return result, nil
}

// commit runs a batch in one transaction and stores the error of each job in it.
func (w *writer) commit(ctx context.Context, batch []*job) {
	if err := w.transact(ctx, batch); err != nil {
		for _, j := range batch {
			j.err = err
		}
	}
}

// transact runs the jobs and stores the error of each. It returns the database's error,
// which stands for all of them.
func (w *writer) transact(ctx context.Context, batch []*job) error {
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
	for _, j := range batch {
		if j.err = j.ctx.Err(); j.err != nil {
			continue
		}
		if j.err = j.run(ctx, tx); tx.broken != nil {
			return tx.broken
		}
	}
	if _, err := w.prepared[commit].ExecContext(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	committed = true
	return nil
}

// close commits the waiting jobs and closes the connection. It may be called twice.
func (w *writer) close() error {
	w.once.Do(func() {
		close(w.closing)
		w.Close()
		w.closeErr = errors.Join(w.prepared.close(), w.conn.Close())
	})
	return w.closeErr
}
