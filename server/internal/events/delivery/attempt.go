package delivery

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/internal/events/sender"
	"github.com/paywarrant/paywarrant/server/store"
)

// leaseMargin is how much longer a lease must last than a delivery that begins may take.
const leaseMargin = time.Second

// result is the outcome of an attempt at the first delivery of a lane.
type result struct {
	sender.Outcome

	lane *lane
	at   time.Time // of its beginning
	cut  bool      // it was cut off by Close, and counts for nothing
}

// send begins the next attempts, one per lane.
func (w *worker) send(ctx context.Context, now time.Time) {
	if now.Add(sender.Timeout+leaseMargin).UnixMilli() > w.until.Load() {
		return // it goes on when the lease is extended
	}
	for w.inFlight < MaxInFlight && len(w.ready) > 0 {
		l := w.ready[0]
		w.ready = w.ready[1:]
		l.sentAt = time.Now()
		w.inFlight++
		d, to := l.items[0].DueDelivery, w.target
		w.flights.Go(func() {
			r := result{lane: l, at: w.Clock()}
			r.Outcome = w.attempt(ctx, d, to, r.at)
			r.cut = r.Status == 0 && ctx.Err() != nil
			w.results <- r
		})
	}
}

// attempt sends a delivery.
func (w *worker) attempt(ctx context.Context, d store.DueDelivery, to *sender.Target, now time.Time) sender.Outcome {
	began, delay := time.Now(), time.Duration(-1)
	_, span := w.Telemetry.Span(context.Background(), "webhook.deliver", slog.String("event", d.EventID), slog.String("endpoint", d.EndpointID),
		slog.Int("attempt", d.Attempts+1))
	failpoint.Hit(failpoint.Sending)
	o := w.Sender.Send(ctx, to, d.Event, now)
	failpoint.Hit(failpoint.Sent)
	if o.OK() && d.Attempts == 0 {
		delay = max(w.Clock().Sub(d.Event.CreatedAt), 0)
	}
	w.Telemetry.Attempted(o.Kind(), time.Since(began), delay)
	span.End(o.Problem)
	return o
}

// settle records a result and those that have come meanwhile: in the endpoint's state, in
// the store if the offset does not say it, and in the lanes, which go on or wait.
func (w *worker) settle(ctx context.Context, r result) error {
	var rows []store.Delivery
	var lanes []*lane
	disable := ""
	for more := true; more; {
		if w.inFlight--; !r.cut {
			disable = cmp.Or(w.judge(r), disable)
			rows = append(rows, w.record(r)...)
			lanes = append(lanes, r.lane)
		}
		if more = len(w.results) > 0; more {
			r = <-w.results
		}
	}
	if err := w.store(ctx, rows); err != nil {
		return err
	}
	w.pass()
	for _, l := range lanes {
		if err := w.proceed(ctx, l); err != nil {
			return err
		}
	}
	if disable != "" {
		w.disable(ctx, disable)
	}
	return nil
}

// record notes an attempt in the delivery and its lane, and returns the deliveries that are
// to be stored. If it failed, those behind it in its lane are stored with it.
func (w *worker) record(r result) (rows []store.Delivery) {
	l := r.lane
	d, behind := l.items[0], l.items[1:]
	d.Attempts++
	d.HTTPStatus, d.Error, d.Answer, d.TriedAt = r.Status, r.Problem, r.Answer, r.at
	pause, again := retryIn(d.Attempts)
	switch {
	case r.OK():
		d.Status = store.DeliveryDelivered
	case !again || r.Status == http.StatusGone:
		d.Status = store.DeliveryFailed
	default:
		d.Next = r.at.Add(max(pause, r.RetryAfter))
		if next := &w.stored.retryAt; next.IsZero() || d.Next.Before(*next) {
			*next = d.Next
		}
	}
	d.done = true
	if l.stored || !r.OK() {
		rows = append(rows, d.Delivery)
	}
	if d.Status == store.DeliveryPending {
		for _, d := range behind {
			if !d.done {
				d.done = true
				rows = append(rows, d.Delivery)
			}
		}
		if behind = nil; !l.stored {
			l.stored = true
			w.stored.loaded++
		}
	}
	l.items, l.sentAt = behind, time.Time{}
	return rows
}

// proceed goes on with the next delivery of a lane. What else a stored lane has is read
// from the store, also after a failure: it may have been sent again meanwhile.
func (w *worker) proceed(ctx context.Context, l *lane) error {
	if len(l.items) > 0 {
		w.ready = append(w.ready, l)
		return nil
	}
	delete(w.lanes, l.id)
	if !l.stored {
		return nil
	}
	w.stored.loaded--
	return w.load(ctx, l.id)
}
