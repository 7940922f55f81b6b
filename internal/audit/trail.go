package audit

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/paywarrant/paywarrant/internal/groupcommit"
	"github.com/paywarrant/paywarrant/internal/httplog"
)

// Entry is an action of a merchant or a person, as it is stored.
type Entry struct {
	// At is the time of the action.
	At time.Time
	// Actor is the actor's kind and id: see [Merchant] and [Person].
	Actor string
	// Action is the kind of action: "refund.create".
	Action string
	// Subject is the id of the object of the action.
	Subject string
	// Detail holds further values, the client's address and the request's id; never a secret.
	Detail string
}

// Merchant returns the actor of a merchant's requests.
func Merchant(id string) string { return "merchant:" + id }

// Person returns the actor of the requests of the person who confirmed a mandate.
func Person(mandateID string) string { return "person:" + mandateID }

const (
	// trailBatch limits the entries of one commit, trailQueue those that wait for one.
	trailBatch, trailQueue = 256, 10_000
	// trailTimeout limits the time for which an action waits for its entry.
	trailTimeout = 5 * time.Second
)

// trail commits entries in batches.
type trail struct {
	committer *groupcommit.Committer[*stored]
	later     sync.WaitGroup // entries of DidSoon that are not committed
}

// stored is an entry with the result of its commit.
type stored struct {
	entry Entry
	err   error
}

// Keep makes Did and DidSoon store entries, until Close. Before that, and after it, they do
// nothing. store returns once all entries are on stable storage.
func (l *Log) Keep(store func(ctx context.Context, all []Entry) error) {
	t := &trail{}
	t.committer = groupcommit.New(groupcommit.Config[*stored]{Batch: trailBatch, Queue: trailQueue, Commit: func(batch []*stored) {
		ctx, cancel := context.WithTimeout(context.Background(), trailTimeout)
		defer cancel()
		all := make([]Entry, len(batch))
		for i, one := range batch {
			all[i] = one.entry
		}
		err := store(ctx, all)
		for _, one := range batch {
			one.err = err
		}
	}})
	l.trail.Store(t)
}

// Close returns once all entries are stored.
func (l *Log) Close() {
	if t := l.trail.Swap(nil); t != nil {
		t.later.Wait()
		t.committer.Close()
	}
}

// Did stores what a merchant or a person has done, and returns once that is on stable storage.
// The action is done: if its entry cannot be stored, it is logged as an error.
func (l *Log) Did(ctx context.Context, by, action, subject string, attrs ...slog.Attr) {
	if l == nil {
		return
	}
	if t := l.trail.Load(); t != nil {
		l.commit(ctx, t, l.entry(ctx, by, action, subject, attrs))
	}
}

// DidSoon is like Did, and does not wait. It is for what happens often: a crash may lose the
// entries of its last moments.
func (l *Log) DidSoon(ctx context.Context, by, action, subject string, attrs ...slog.Attr) {
	if l == nil {
		return
	}
	if t := l.trail.Load(); t != nil {
		e := l.entry(ctx, by, action, subject, attrs)
		t.later.Go(func() { l.commit(ctx, t, e) })
	}
}

func (l *Log) entry(ctx context.Context, by, action, subject string, attrs []slog.Attr) Entry {
	var detail []string
	for _, a := range attrs {
		detail = append(detail, a.String())
	}
	if client := httplog.ClientAddr(ctx); client.IsValid() {
		detail = append(detail, "address="+client.String())
	}
	if id := httplog.RequestID(ctx); id != "" {
		detail = append(detail, "request="+id)
	}
	return Entry{At: l.clock(), Actor: by, Action: action, Subject: subject, Detail: strings.Join(detail, " ")}
}

func (l *Log) commit(ctx context.Context, t *trail, e Entry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*trailTimeout)
	defer cancel()
	one := &stored{entry: e}
	err := t.committer.Do(ctx, e.Actor, one)
	if err == nil {
		err = one.err
	}
	if err != nil && !errors.Is(err, groupcommit.ErrClosed) {
		l.logger.ErrorContext(ctx, "action not in the audit log", slog.String("actor", e.Actor), slog.String("action", e.Action),
			slog.String("subject", e.Subject), slog.String("detail", e.Detail), slog.String("error", err.Error()))
	}
}
