package events

import (
	"context"
	"net/url"
	"time"

	"github.com/paywarrant/paywarrant/webhook"
)

// launch sends what may be sent now. A lane has one on its way at most.
func (q *queue) launch(ctx context.Context) {
	if q.gone || q.paused() || len(q.ready) == 0 {
		return
	}
	if q.Clock.Now().Add(sendTimeout+2*spare).UnixMilli() > q.until.Load() {
		signal(q.extended) // another one may begin before ours would end
		return
	}
	for q.flying < q.limit && len(q.ready) > 0 {
		d := q.lanes[q.ready[0]][0]
		q.ready = q.ready[1:]
		q.flying++
		d.sent = time.Now()
		f := flight{ctx: q.limited(ctx), item: d, to: q.address, signer: q.signer, epoch: q.epoch, at: q.Clock.Now()}
		select {
		case q.flights <- f:
		default: // nobody waits for one
			q.running.Go(func() { q.fly(f) })
		}
	}
}

// limited is a context that ends after sendTimeout, or up to spare later: attempts
// share it, since one of its own is a good part of what an attempt costs.
func (q *queue) limited(ctx context.Context) context.Context {
	if q.within == nil || time.Since(q.limitedAt) > spare {
		within, cancel := context.WithTimeout(ctx, sendTimeout+spare)
		context.AfterFunc(within, cancel)
		q.within, q.limitedAt = within, time.Now()
	}
	return q.within
}

// flight is an attempt at a delivery.
type flight struct {
	ctx    context.Context
	item   *item
	to     *url.URL
	signer *webhook.Signer
	epoch  int
	at     time.Time // of its beginning
}

type result struct {
	flight

	outcome outcome
}

// fly makes an attempt, and others until there are no more.
func (q *queue) fly(f flight) {
	for more := true; more; f, more = <-q.flights {
		q.result <- result{flight: f, outcome: q.send(f.ctx, f.to, f.item.Event, f.signer)}
	}
}
