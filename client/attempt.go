package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"
)

// maxAnswer limits the body of a response, in bytes: many times a full list page.
const maxAnswer = 1 << 20

// attempt sends the call once and returns how the attempt ended.
func (c *Client) attempt(ctx context.Context, k *call, w prepared, n int, take func(answer) bool) outcome {
	start := time.Now()
	a, connected, err := c.exchange(ctx, k, w)
	var res outcome
	switch {
	case err != nil:
		res = outcome{err: w.secret.transport(err), passing: true}
		if !connected {
			res.effect = none
		}
	case !a.ok():
		e, genuine := a.refusal()
		w.secret.cleanError(e)
		res = outcome{err: e, effect: k.effectOf(e, genuine), passing: passing(e), retryAfter: e.RetryAfter}
	case a.oversized || !take(a):
		e := a.unreadable()
		w.secret.cleanError(e)
		res = outcome{err: e, passing: !a.oversized}
	default:
		res.effect = decided
	}
	res.status, res.requestID = a.status, w.secret.clean(a.requestID())
	c.logAttempt(ctx, k, n, time.Since(start), res)
	return res
}

// exchange sends the request and reads the whole response. Connected reports whether
// the request got a connection, so that the service may have read it.
func (c *Client) exchange(ctx context.Context, k *call, w prepared) (a answer, connected bool, err error) {
	timed, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var t tracer
	req, err := c.request(httptrace.WithClientTrace(timed, t.trace()), k, w)
	if err != nil {
		return answer{}, false, withoutURL(err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return answer{}, t.mayHaveSent(), c.explain(ctx, timed, withoutURL(err))
	}
	defer res.Body.Close() // the body was read, or the attempt has failed anyway
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return answer{}, true, c.explain(ctx, timed, fmt.Errorf("read answer: %w", err))
	}
	return answer{status: res.StatusCode, header: res.Header, body: body, oversized: len(body) > maxAnswer}, true, nil
}

// explain adds which deadline ended the attempt: the caller's, whose error must be
// found in err even if ctx has a cause of its own, or the attempt's.
func (c *Client) explain(caller, timed context.Context, err error) error {
	switch {
	case caller.Err() != nil && !errors.Is(err, caller.Err()):
		return fmt.Errorf("%w: %w", caller.Err(), err)
	case caller.Err() == nil && timed.Err() != nil:
		return fmt.Errorf("no answer within %s: %w", c.timeout, err)
	}
	return err
}

func (c *Client) request(ctx context.Context, k *call, w prepared) (*http.Request, error) {
	var body io.Reader = http.NoBody
	if w.body != nil {
		body = bytes.NewReader(w.body)
	}
	req, err := http.NewRequestWithContext(ctx, k.method, w.url, body)
	if err != nil {
		return nil, err
	}
	if token := c.token(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	} else {
		req.Header.Set("X-Service-Merchant-Id", c.merchantID)
		req.Header.Set("X-Service-Api-Key", c.apiKey())
	}
	if key := c.helperKey(); key != "" && strings.HasPrefix(k.pattern, "/v1/test_helpers/") {
		req.Header.Set("X-Service-Test-Helper-Key", key)
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", "application/json")
	if w.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

// tracer records whether a request got a connection. A transport that reports nothing
// must be assumed to have sent the request.
type tracer struct{ asked, had atomic.Bool }

func (t *tracer) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { t.asked.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { t.had.Store(true) },
	}
}

func (t *tracer) mayHaveSent() bool { return t.had.Load() || !t.asked.Load() }

func (c *Client) logAttempt(ctx context.Context, k *call, n int, took time.Duration, res outcome) {
	if !c.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", k.method),
		slog.String("route", k.pattern),
		slog.Int("attempt", n),
		slog.Duration("duration", took),
	}
	if res.status != 0 {
		attrs = append(attrs, slog.Int("status", res.status), slog.String("request_id", res.requestID))
	}
	if res.err != nil {
		attrs = append(attrs, slog.String("error", res.err.Error()))
	}
	c.log.LogAttrs(ctx, slog.LevelDebug, "merchant API call", attrs...)
}
