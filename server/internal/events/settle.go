package events

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// settle takes note of what came of a flight: in the deliveries, in their lane, and in
// the endpoint.
func (q *queue) settle(ctx context.Context, r result) {
	q.flying--
	if r.epoch < q.epoch {
		q.former--
		q.answerWaiters(false)
	}
	for i, a := range r.attempts {
		d := r.items[i]
		d.Attempts++
		d.HTTPStatus, d.Error, d.Answer, d.TriedAt = a.status, a.problem, a.answer, a.at
		wait, again := retryIn(d.Attempts)
		switch {
		case a.ok():
			d.Status = ledger.DeliveryDelivered
		case !again || a.status == http.StatusGone:
			d.Status = ledger.DeliveryFailed
		default:
			d.Next = a.at.Add(max(wait, a.retryAfter))
		}
		q.adapt(a.outcome)
		q.direct = a.direct
	}
	q.advance(r.items, len(r.attempts))
	for _, a := range r.attempts {
		q.judge(ctx, a)
	}
}

// advance has the outcomes of the first deliveries of a flight stored, where the
// endpoint's place does not say them, and goes on in their lane, or leaves it until
// the retry.
func (q *queue) advance(flown []*item, tried int) {
	lane := flown[0].Lane
	list := q.lanes[lane]
	here := len(list) > 0 && list[0] == flown[0] // else it was parked meanwhile
	for i, d := range flown {
		d.away = false
		switch {
		case i >= tried && !here:
			q.drop(d)
		case i >= tried:
		case !d.bound:
			q.store(d.Delivery)
			q.drop(d)
		case d.Status == ledger.DeliveryDelivered:
			d.bound = false
		default:
			q.enter(d)
		}
	}
	if !here {
		return
	}
	rest := list[tried:]
	if tried > 0 && flown[tried-1].Status == ledger.DeliveryPending {
		q.waiting[lane] = true
		for _, behind := range rest {
			q.drop(behind)
			q.enter(behind)
		}
		delete(q.tails, lane)
		rest = nil
	}
	if len(rest) == 0 {
		delete(q.lanes, lane)
		return
	}
	q.lanes[lane] = rest
	q.ready = append(q.ready, lane)
}

// adapt sends more at once to an endpoint that takes what it gets, and fewer to
// one that cannot.
func (q *queue) adapt(o outcome) {
	switch {
	case o.ok():
		q.limit = min(q.limit+1, maxFlying)
	case o.overloaded():
		q.limit = max(q.limit/2, 1)
	}
}

// judge keeps the endpoint's health, and disables one that is gone or has failed
// for days.
func (q *queue) judge(ctx context.Context, a attempt) {
	if a.ok() {
		q.health = health{}
		return
	}
	q.health.failures++
	if q.health.failingSince.IsZero() {
		q.health.failingSince = a.at
	}
	pause := pauseAfter(q.health.failures)
	if a.overloaded() && a.status != 0 {
		pause = max(pause, time.Second)
	}
	if until := a.at.Add(max(pause, a.retryAfter)); until.After(a.at) && until.After(q.health.pausedUntil) {
		q.health.pausedUntil = until
	}
	switch {
	case a.status == http.StatusGone:
		q.disable(ctx, "it answered 410 Gone")
	case !a.at.Before(q.health.failingSince.Add(disableAfter)):
		q.disable(ctx, "every delivery has failed for five days; the last one: "+a.problem)
	}
}

// disable ends deliveries to the endpoint and mails its owner, once.
func (q *queue) disable(ctx context.Context, reason string) {
	q.gone = true
	ctx = context.WithoutCancel(ctx)
	did, err := q.Store.DisableWebhookEndpoint(ctx, q.endpoint.ID, reason)
	if err != nil {
		q.failed(ctx, "disable webhook endpoint", err) // at the next failure
		return
	}
	if !did {
		return
	}
	q.Telemetry.Disabled()
	q.Logger.WarnContext(ctx, "webhook endpoint disabled", slog.String("endpoint", q.endpoint.ID), slog.String("reason", reason))
	m, err := q.Store.Merchant(ctx, q.endpoint.MerchantID)
	if err == nil && q.Mail != nil && m.Email != "" {
		err = q.Mail(ctx, m.Email, "Your webhook endpoint was disabled", fmt.Sprintf(
			"Nothing is sent any more to\n\n%s (%s)\n\nbecause %s.\n\nYour events are kept for 30 days; when the receiver works again, add the endpoint anew and have them sent again.\n",
			q.endpoint.URL, q.endpoint.ID, reason))
	}
	if err != nil {
		q.Logger.ErrorContext(ctx, "mail about a disabled webhook endpoint", slog.String("endpoint", q.endpoint.ID), slog.String("error", err.Error()))
	}
}
