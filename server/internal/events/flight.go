package events

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/webhook"
)

// A flight makes several deliveries of a lane, one after the other, where nothing else
// waits for its turn and the endpoint is quick: telling of each costs a good part of
// what a delivery does.
const maxRun, runFor = 4, 50 * time.Millisecond

// launch sends what may be sent now. A lane has one on its way at most.
func (q *queue) launch(ctx context.Context) {
	if q.gone || q.paused() || len(q.ready) == 0 {
		return
	}
	if q.Clock().Add(sendTimeout+2*spare).UnixMilli() > q.until.Load() {
		signal(q.extended) // another one may begin before ours would end
		return
	}
	request := q.limited(ctx)
	for q.flying < q.limit && len(q.ready) > 0 {
		run := q.lanes[q.ready[0]]
		q.ready = q.ready[1:]
		q.flying++
		crowd := len(q.ready) > q.limit-q.flying
		direct := q.direct && (crowd || len(run) > 1)
		if crowd {
			run = run[:1]
		}
		f := flight{items: run[:min(len(run), maxRun)], request: request, direct: direct, signer: q.signer, epoch: q.epoch, turn: q.turn.Load()}
		for _, d := range f.items {
			d.away = true
		}
		q.hire(f)
	}
}

// hire has somebody fly: who waits for a flight, or one more. Where there are as many
// as may be on their way, one of them is about to wait.
func (q *queue) hire(f flight) {
	if q.flyers == maxFlying {
		q.flights <- f
		return
	}
	select {
	case q.flights <- f:
	default:
		q.flyers++
		q.running.Go(func() { q.fly(f) })
	}
}

// limited is a request that ends after sendTimeout, or up to spare later: attempts
// share it, since a context of its own is a good part of what an attempt costs.
func (q *queue) limited(ctx context.Context) *http.Request {
	if q.request == nil || q.request.URL != q.address || time.Since(q.limitedAt) > spare {
		within, cancel := context.WithTimeout(ctx, sendTimeout+spare+runFor)
		context.AfterFunc(within, cancel)
		q.request, q.limitedAt = blank(within, q.address), time.Now()
	}
	return q.request
}

// flight is attempts at deliveries of one lane, up to the first that fails.
type flight struct {
	items   []*item
	request *http.Request
	direct  bool // over a connection of its own
	signer  *webhook.Signer
	epoch   int
	turn    int64
}

// attempt is what came of one.
type attempt struct {
	outcome

	at time.Time // of its beginning
}

// result is what came of the first deliveries of a flight; the others were not tried.
type result struct {
	flight

	attempts []attempt
}

// fly makes attempts, and others until there are no more.
func (q *queue) fly(f flight) {
	via := line{shared: q.http}
	defer via.close()
	for more := true; more; f, more = <-q.flights {
		if f.direct {
			via.open(f.request)
		}
		r := result{flight: f, attempts: make([]attempt, 0, len(f.items))}
		for began, goesOn := time.Now(), true; goesOn; {
			failpoint.Hit(failpoint.Sending)
			d, now := f.items[len(r.attempts)], q.Clock()
			o := q.attempt(&via, f, d, now)
			failpoint.Hit(failpoint.Sent)
			r.attempts = append(r.attempts, attempt{o, now})
			goesOn = o.ok() && len(r.attempts) < len(f.items) && f.turn == q.turn.Load() && time.Since(began) < runFor
		}
		q.result <- r
	}
}

// attempt makes one, and tells of it.
func (q *queue) attempt(via http.RoundTripper, f flight, d *item, now time.Time) outcome {
	if q.Telemetry == nil {
		return q.send(via, f.request, d.Event, f.signer, now)
	}
	began, delay := time.Now(), time.Duration(-1)
	_, span := q.Telemetry.Span(context.Background(), "webhook.deliver", slog.String("event", d.EventID), slog.String("endpoint", d.EndpointID),
		slog.Int("attempt", d.Attempts+1))
	o := q.send(via, f.request, d.Event, f.signer, now)
	if o.ok() && d.Attempts == 0 {
		delay = max(q.Clock().Sub(d.Event.CreatedAt), 0)
	}
	q.Telemetry.Attempted(o.kind(), time.Since(began), delay)
	span.End(o.problem)
	return o
}
