package events

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// idle tells whether there has been nothing to do for so long that the endpoint is
// given back. A pause counts as that.
func (q *queue) idle() bool {
	working := !q.paused() && (q.stream.more || q.stored.more() || len(q.lanes) > 0)
	switch {
	case q.flying > 0 || q.unsaved() || working && !q.gone:
		q.idleSince = time.Time{}
		return false
	case q.gone:
		return true
	case q.idleSince.IsZero():
		q.idleSince = time.Now()
	}
	return time.Since(q.idleSince) > linger || q.crowded()
}

// crowded tells whether others may wait for this instance to have room.
func (q *queue) crowded() bool {
	q.Service.mu.Lock()
	defer q.Service.mu.Unlock()
	return len(q.queues) > maxQueues*3/4
}

// release gives the endpoint back. It is false where something is to be made again since.
func (q *queue) release(ctx context.Context) bool {
	wake := q.retry
	if q.stream.more || q.stored.more() { // paused, or of no use any more
		wake = q.Clock()
	}
	done, err := q.Store.ReleaseWebhookEndpoint(ctx, q.owner, q.endpoint, q.Clock(), wake)
	if err != nil {
		q.failed(ctx, "release webhook endpoint", err)
		wait(ctx, idleTick)
		return false
	}
	if done {
		return true
	}
	e, err := q.Store.WebhookEndpoint(ctx, q.endpoint.ID)
	if err != nil { // deleted
		return errors.Is(err, ledger.ErrNotFound)
	}
	if e.WakeSeq == q.endpoint.WakeSeq { // another's by now
		return true
	}
	q.endpoint.WakeSeq = e.WakeSeq
	q.stored.begin()
	return false
}

// end waits a moment for what is on its way, and gives the endpoint back.
func (q *queue) end(ctx context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*endWithin)
	defer cancel()
	q.park()
	timer := time.AfterFunc(endWithin, stop)
	defer timer.Stop()
	for q.flying > 0 {
		r := <-q.result
		if last := len(r.attempts) - 1; r.attempts[last].status == 0 && !timer.Stop() { // cut off by us, perhaps
			r.attempts = r.attempts[:last]
			q.settle(ctx, r)
			continue
		}
		timer.Reset(endWithin)
		q.settle(ctx, r)
	}
	q.park()
	q.hand()
	for q.unsaved() && ctx.Err() == nil {
		select {
		case <-q.signal:
		case <-ctx.Done():
		}
		q.take(ctx)
	}
	if _, err := q.Store.ReleaseWebhookEndpoint(ctx, q.owner, q.endpoint, q.Clock(), q.Clock()); err != nil {
		q.Logger.WarnContext(ctx, "release webhook endpoint", slog.String("error", err.Error())) // it lapses
	}
}
