package events

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/paywarrant/paywarrant/server/ledger"
)

// settle takes note of what came of an attempt: in the delivery, in its lane, and
// in the endpoint.
func (q *queue) settle(ctx context.Context, r result) {
	q.flying--
	if r.epoch < q.epoch {
		q.former--
		q.answerWaiters(false)
	}
	d := r.item
	d.sent = time.Time{}
	d.Attempts++
	d.HTTPStatus, d.Error, d.Answer, d.TriedAt = r.outcome.status, r.outcome.problem, r.outcome.answer, r.at
	wait, again := retryIn(d.Attempts)
	switch {
	case r.outcome.ok():
		d.Status = ledger.DeliveryDelivered
	case !again || r.outcome.status == http.StatusGone:
		d.Status = ledger.DeliveryFailed
	default:
		d.Next = r.at.Add(max(wait, r.outcome.retryAfter))
	}
	q.advance(d)
	q.adapt(r.outcome)
	q.judge(ctx, r)
}

// advance has an outcome stored, where the endpoint's place does not say it, and
// goes on in the lane, or leaves it until the retry.
func (q *queue) advance(d *item) {
	switch {
	case d.step == nil:
		q.store(d.Delivery)
		q.drop(d)
	case d.Status == ledger.DeliveryDelivered:
		d.step.item = nil
	default:
		q.enter(d)
	}
	list := q.lanes[d.Lane]
	if len(list) == 0 || list[0] != d { // parked meanwhile
		return
	}
	rest := list[1:]
	if d.Status == ledger.DeliveryPending {
		q.waiting[d.Lane] = true
		for _, behind := range rest {
			q.drop(behind)
			q.enter(behind)
		}
		delete(q.tails, d.Lane)
		rest = nil
	}
	if len(rest) == 0 {
		delete(q.lanes, d.Lane)
		return
	}
	q.lanes[d.Lane] = rest
	q.ready = append(q.ready, d.Lane)
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
func (q *queue) judge(ctx context.Context, r result) {
	if r.outcome.ok() {
		q.health = health{}
		return
	}
	q.health.failures++
	if q.health.failingSince.IsZero() {
		q.health.failingSince = r.at
	}
	pause := pauseAfter(q.health.failures)
	if r.outcome.overloaded() && r.outcome.status != 0 {
		pause = max(pause, time.Second)
	}
	if until := r.at.Add(max(pause, r.outcome.retryAfter)); until.After(r.at) && until.After(q.health.pausedUntil) {
		q.health.pausedUntil = until
	}
	switch {
	case r.outcome.status == http.StatusGone:
		q.disable(ctx, "it answered 410 Gone")
	case !r.at.Before(q.health.failingSince.Add(disableAfter)):
		q.disable(ctx, "every delivery has failed for five days; the last one: "+r.outcome.problem)
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
