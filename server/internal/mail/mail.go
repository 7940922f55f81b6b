// Package mail sends messages to people. A message is stored before it is sent, so it
// outlives a process that ends, and a mail server that is down: it is tried again for three
// days, and at least ten times.
//
// The queue names what a message is about. Its text, which may hold a private link, is
// written at each attempt. A process that dies between sending and noting that sends a
// message twice.
package mail

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/letter"
	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/store"
)

const (
	// look is the interval at which the queue is read, beside right after Post.
	look = 10 * time.Second
	// firstPause is the pause after the first failed attempt. It doubles up to maxPause.
	firstPause = time.Minute
	maxPause   = 6 * time.Hour
	// giveUpAfter is how long a message is tried, and minAttempts how often at least: a
	// service that was down for days still tries.
	giveUpAfter = 3 * 24 * time.Hour
	minAttempts = 10
	// expectedPause is the time in which the subject of an expected message should come
	// into being, and expectedFor the time after which it will not.
	expectedPause = time.Minute
	expectedFor   = time.Hour
	// sendTimeout is the time for one attempt. It is shorter than firstPause, so no other
	// instance tries at the same time.
	sendTimeout = 40 * time.Second
	batch       = 16
)

// ErrRefused reports a message that will never be delivered.
var ErrRefused = errors.New("mail: refused")

// Config configures [New]. Every field is required.
type Config struct {
	Store  store.Mails
	Clock  func() time.Time
	Logger *slog.Logger
	// Send sends a letter.
	Send func(ctx context.Context, l letter.Letter) error
	// Letters write the letters, by kind. A letter without recipient is not sent. A letter
	// whose subject does not exist, [ledger.ErrNotFound], is tried again for an hour.
	Letters map[string]func(ctx context.Context, subjectID string) (letter.Letter, error)
}

// Queue sends messages from Start to Close. Its methods do nothing on a nil Queue.
type Queue struct {
	Config

	posted chan struct{}
	stop   context.CancelFunc
	loop   sync.WaitGroup
}

// New returns a queue.
func New(cfg Config) *Queue { return &Queue{Config: cfg, posted: make(chan struct{}, 1)} }

// Post queues a message. If it cannot be stored, Post logs an error.
func (q *Queue) Post(ctx context.Context, kind, subjectID string) {
	if err := q.Add(context.WithoutCancel(ctx), kind, subjectID); err != nil {
		q.Logger.ErrorContext(ctx, "mail is not queued", slog.String("kind", kind), slog.String("id", subjectID), slog.String("error", err.Error()))
	}
}

// Add queues a message. It returns the error of the store.
func (q *Queue) Add(ctx context.Context, kind, subjectID string) error {
	if q == nil {
		return nil
	}
	now := q.Clock()
	err := q.Store.AddMail(ctx, store.Mail{Kind: kind, SubjectID: subjectID, CreatedAt: now, Due: now})
	if err == nil {
		q.wake()
	}
	return err
}

// Expect queues a message before its subject exists, so that the message is not lost if the
// process ends right after the subject was stored. If the subject never exists, no message
// is sent. [Queue.Hasten] sends the message at once.
func (q *Queue) Expect(ctx context.Context, kind, subjectID string) error {
	if q == nil {
		return nil
	}
	now := q.Clock()
	return q.Store.AddMail(ctx, store.Mail{Kind: kind, SubjectID: subjectID, CreatedAt: now, Due: now.Add(expectedPause)})
}

// Hasten sends a message whose subject exists now. If it fails, the message is sent within
// a minute of [Queue.Expect] all the same.
func (q *Queue) Hasten(ctx context.Context, kind, subjectID string) {
	if q == nil {
		return
	}
	if err := q.Store.HastenMail(context.WithoutCancel(ctx), kind, subjectID, q.Clock()); err != nil {
		q.Logger.WarnContext(ctx, "mail is sent later", slog.String("kind", kind), slog.String("id", subjectID), slog.String("error", err.Error()))
		return
	}
	q.wake()
}

// wake lets the queue look at once.
func (q *Queue) wake() {
	select {
	case q.posted <- struct{}{}:
	default: // it is about to look
	}
}

// Start begins to send.
func (q *Queue) Start(ctx context.Context) {
	if q == nil {
		return
	}
	ctx, q.stop = context.WithCancel(context.WithoutCancel(ctx))
	q.loop.Go(func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		for {
			if err := q.sendDue(ctx); err != nil && ctx.Err() == nil {
				q.Logger.ErrorContext(ctx, "read the queue of mails", slog.String("error", err.Error()))
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case <-q.posted:
			}
		}
	})
}

// Close ends it, and an attempt that is under way. It may be called twice, and without Start.
func (q *Queue) Close() {
	if q == nil || q.stop == nil {
		return
	}
	q.stop()
	q.loop.Wait()
}

// sendDue sends what is due.
func (q *Queue) sendDue(ctx context.Context) error {
	for {
		due, err := q.Store.DueMails(ctx, q.Clock(), batch)
		if err != nil || len(due) == 0 {
			return err
		}
		for _, m := range due {
			if err := q.attempt(ctx, m); err != nil {
				return err
			}
		}
	}
}

// attempt sends one message, unless another instance does. It returns the store's errors.
func (q *Queue) attempt(ctx context.Context, m store.Mail) error {
	now := q.Clock()
	pause := min(firstPause<<min(m.Attempts, 16), maxPause)
	mine, err := q.Store.PutOffMail(ctx, m, now.Add(pause))
	if err != nil || !mine {
		return err
	}
	old := now.Add(pause).Sub(m.CreatedAt) > giveUpAfter && m.Attempts+1 >= minAttempts
	err = q.send(ctx, m)
	logger := q.Logger.With(slog.String("kind", m.Kind), slog.String("id", m.SubjectID), slog.Int("attempt", m.Attempts+1))
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, ledger.ErrNotFound) && now.Sub(m.CreatedAt) >= expectedFor: // it was expected in vain
	case errors.Is(err, ErrRefused) || old:
		logger.ErrorContext(ctx, "mail is not sent; no more attempts", slog.String("error", err.Error()))
	default:
		logger.WarnContext(ctx, "mail is not sent yet", slog.Duration("pause", pause), slog.String("error", err.Error()))
		return nil
	}
	m.Due = now.Add(pause)
	return q.Store.DeleteMail(context.WithoutCancel(ctx), m)
}

func (q *Queue) send(ctx context.Context, m store.Mail) error {
	write, ok := q.Letters[m.Kind]
	if !ok {
		return errors.New("this version does not know the kind")
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	l, err := write(ctx, m.SubjectID)
	if err != nil || l.To == "" {
		return err
	}
	return q.Send(ctx, l)
}
