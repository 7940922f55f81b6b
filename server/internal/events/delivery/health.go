package delivery

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"
)

// schedule lists the waits before each retry of a delivery. After the last retry the
// delivery has failed for good.
var schedule = []time.Duration{
	5 * time.Second, time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	// disableAfter is how long an endpoint fails without any success before it is disabled.
	disableAfter = 5 * 24 * time.Hour
	// After breakAfter failures in a row the endpoint is paused: for a second, doubled at
	// each failure up to maxBreak.
	breakAfter = 10
	maxBreak   = time.Minute
	// longestWait is longer than any wait before a retry. A retry that is later than that was
	// planned by a clock that has gone back since.
	longestWait = 48 * time.Hour
)

// retryIn returns how long to wait after so many attempts, with up to a tenth more at
// random, so that deliveries that failed together are not retried together. It returns
// false if there is no further attempt.
func retryIn(attempts int) (time.Duration, bool) {
	if attempts > len(schedule) {
		return 0, false
	}
	wait := schedule[attempts-1]
	return wait + rand.N(wait/10), true //nolint:gosec // not a secret
}

// pauseAfter returns how long an endpoint is paused after so many failures in a row.
func pauseAfter(failures int) time.Duration {
	if failures < breakAfter {
		return 0
	}
	return min(time.Second<<min(failures-breakAfter, 16), maxBreak)
}

// judge updates the endpoint's health, and returns why it is to be disabled, if it is.
func (w *worker) judge(r result) (disable string) {
	state := &w.state
	if r.OK() {
		state.FailingSince, state.Failures = time.Time{}, 0 // a pause that another delivery asked for stays
		return ""
	}
	state.Failures++
	if state.FailingSince.IsZero() {
		state.FailingSince = r.at
	}
	pause := max(pauseAfter(state.Failures), r.RetryAfter)
	if r.Overloaded() {
		pause = max(pause, time.Second)
	}
	if until := r.at.Add(pause); pause > 0 && until.After(state.PausedUntil) {
		state.PausedUntil = until
	}
	switch {
	case r.Status == http.StatusGone:
		return "it answered 410 Gone"
	case !r.at.Before(state.FailingSince.Add(disableAfter)):
		return "every delivery has failed for five days; the last one: " + r.Problem
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
	if w.MailDisabled != nil {
		w.MailDisabled(ctx, w.endpoint.ID)
	}
}
