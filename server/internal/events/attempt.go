package events

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/internal/failpoint"
	"github.com/paywarrant/paywarrant/server/store"
)

// leaseMargin is how much longer a lease must last than a delivery that begins may take.
const leaseMargin = time.Second

// result is the outcome of an attempt at the first delivery of a lane.
type result struct {
	outcome

	lane *lane
	at   time.Time // of its beginning
	cut  bool      // it was cut off by Close, and counts for nothing
}

// send begins the next attempts, one per lane.
func (w *worker) send(ctx context.Context, now time.Time) {
	if len(w.ready) > 0 && now.Add(sendTimeout+leaseMargin).UnixMilli() > w.until.Load() {
		w.short.Store(true)
		signal(w.poked)
		return
	}
	for w.inFlight < w.limit && len(w.ready) > 0 {
		l := w.ready[0]
		w.ready = w.ready[1:]
		l.sentAt = time.Now()
		w.inFlight++
		d, to := l.items[0].DueDelivery, w.target
		w.flights.Go(func() {
			r := result{lane: l, at: w.Clock()}
			r.outcome = w.attempt(ctx, d, to, r.at)
			r.cut = r.status == 0 && ctx.Err() != nil
			w.results <- r
		})
	}
}

// attempt sends a delivery.
func (w *worker) attempt(ctx context.Context, d store.DueDelivery, to *target, now time.Time) outcome {
	began, delay := time.Now(), time.Duration(-1)
	_, span := w.Telemetry.Span(context.Background(), "webhook.deliver", slog.String("event", d.EventID), slog.String("endpoint", d.EndpointID),
		slog.Int("attempt", d.Attempts+1))
	failpoint.Hit(failpoint.Sending)
	o := w.post(ctx, to, d.Event, now)
	failpoint.Hit(failpoint.Sent)
	if o.ok() && d.Attempts == 0 {
		delay = max(w.Clock().Sub(d.Event.CreatedAt), 0)
	}
	w.Telemetry.Attempted(o.kind(), time.Since(began), delay)
	span.End(o.problem)
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
			w.adapt(r.outcome)
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
	d.HTTPStatus, d.Error, d.Answer, d.TriedAt = r.status, r.problem, r.answer, r.at
	pause, again := retryIn(d.Attempts)
	switch {
	case r.ok():
		d.Status = store.DeliveryDelivered
	case !again || r.status == http.StatusGone:
		d.Status = store.DeliveryFailed
	default:
		d.Next = r.at.Add(max(pause, r.retryAfter))
		if next := &w.stored.retryAt; next.IsZero() || d.Next.Before(*next) {
			*next = d.Next
		}
	}
	d.done = true
	if l.stored || !r.ok() {
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

// adapt sends more at once to an endpoint that takes what it gets, and fewer to
// one that cannot.
func (w *worker) adapt(o outcome) {
	switch {
	case o.ok():
		w.limit = min(w.limit+1, maxInFlight)
	case o.overloaded():
		w.limit = max(w.limit/2, 1)
	}
}

// judge updates the endpoint's health, and returns why it is to be disabled, if it is.
func (w *worker) judge(r result) (disable string) {
	state := &w.state
	if r.ok() {
		state.FailingSince, state.Failures = time.Time{}, 0 // a pause that another delivery asked for stays
		return ""
	}
	state.Failures++
	if state.FailingSince.IsZero() {
		state.FailingSince = r.at
	}
	pause := max(pauseAfter(state.Failures), r.retryAfter)
	if r.status != 0 && r.overloaded() {
		pause = max(pause, time.Second)
	}
	if until := r.at.Add(pause); pause > 0 && until.After(state.PausedUntil) {
		state.PausedUntil = until
	}
	switch {
	case r.status == http.StatusGone:
		return "it answered 410 Gone"
	case !r.at.Before(state.FailingSince.Add(disableAfter)):
		return "every delivery has failed for five days; the last one: " + r.problem
	}
	return ""
}

// disable ends deliveries to the endpoint and mails its owner, once.
func (w *worker) disable(ctx context.Context, reason string) {
	w.endpoint.Disabled = reason
	did, err := w.Store.DisableWebhookEndpoint(ctx, w.endpoint.ID, reason)
	if err != nil {
		w.failed(ctx, "disable webhook endpoint", err) // the next failure tries it again
		return
	}
	if !did {
		return
	}
	w.Telemetry.Disabled()
	w.Logger.WarnContext(ctx, "webhook endpoint disabled", slog.String("endpoint", w.endpoint.ID), slog.String("reason", reason))
	m, err := w.Store.Merchant(ctx, w.endpoint.MerchantID)
	if err == nil && w.Mail != nil && m.Email != "" {
		err = w.Mail(ctx, m.Email, "Your webhook endpoint was disabled", fmt.Sprintf(
			"No more events are sent to\n\n%s (%s)\n\nbecause %s.\n\nYour events are kept for 30 days. When the receiver works again, add the endpoint again and resend them.\n",
			w.endpoint.URL, w.endpoint.ID, reason))
	}
	if err != nil {
		w.Logger.ErrorContext(ctx, "mail about a disabled webhook endpoint", slog.String("endpoint", w.endpoint.ID), slog.String("error", err.Error()))
	}
}
