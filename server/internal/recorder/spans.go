package recorder

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/paywarrant/paywarrant/server/telemetry"
)

// Span is a span of a trace. A nil *Span is valid and records nothing.
type Span struct{ span telemetry.Span }

// Span starts a span as a child of the context's.
func (t *Recorder) Span(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, *Span) {
	if t == nil || t.traces == nil {
		return ctx, nil
	}
	ctx, span := t.traces.Start(ctx, name, prefixed(attrs)...)
	if span == nil {
		return ctx, nil
	}
	return ctx, &Span{span}
}

// Set adds attributes with the prefix "paywarrant.".
func (s *Span) Set(attrs ...slog.Attr) {
	if s != nil {
		s.span.SetAttributes(prefixed(attrs)...)
	}
}

// prefixed adds the prefix to the keys, in place.
func prefixed(attrs []slog.Attr) []slog.Attr {
	for i := range attrs {
		attrs[i].Key = "paywarrant." + attrs[i].Key
	}
	return attrs
}

// End ends the span. If problem is not empty, the span is marked as failed because of it.
func (s *Span) End(problem string) {
	if s == nil {
		return
	}
	if problem != "" {
		s.span.Fail(problem)
	}
	s.span.End()
}

// methods are the HTTP methods with a label of their own. Others share one, because clients
// can send any method.
var methods = map[string]bool{
	http.MethodGet: true, http.MethodHead: true, http.MethodPost: true, http.MethodPut: true, http.MethodPatch: true,
	http.MethodDelete: true, http.MethodOptions: true,
}

// Request records a request. The returned function records its end, and must be called when
// the route is known. Callers do not decide what is traced: a trace of theirs is linked,
// not continued.
func (t *Recorder) Request(r *http.Request) (*http.Request, func(status int, took time.Duration)) {
	if t == nil {
		return r, func(int, time.Duration) {}
	}
	t.gauges.inFlight.Add(1)
	method := r.Method
	if !methods[method] {
		method = "other"
	}
	var span telemetry.Span
	if t.traces != nil {
		var ctx context.Context
		ctx, span = t.traces.StartRequest(r.Context(), method, r.Header)
		r = r.WithContext(ctx)
	}
	return r, func(status int, took time.Duration) {
		t.gauges.inFlight.Add(-1)
		_, route, found := strings.Cut(r.Pattern, " ")
		if !found {
			route = r.Pattern
		}
		t.metrics.requests(took.Seconds(), route, method, strconv.Itoa(status))
		if span != nil {
			endRequest(span, method, route, status)
		}
	}
}

func endRequest(s telemetry.Span, method, route string, status int) {
	s.SetName(method + " " + route)
	s.SetAttributes(slog.String("http.request.method", method), slog.String("http.route", route), slog.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		s.Fail("")
	}
	s.End()
}

// Logs returns a logger that adds the trace's id to records.
func (t *Recorder) Logs(to *slog.Logger) *slog.Logger {
	if t == nil || t.traces == nil {
		return to
	}
	return slog.New(traced{to.Handler(), t.traces})
}

type traced struct {
	slog.Handler

	traces telemetry.Traces
}

// Handle implements [slog.Handler].
func (h traced) Handle(ctx context.Context, record slog.Record) error {
	if id := h.traces.TraceID(ctx); id != "" {
		record.AddAttrs(slog.String("traceId", id))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler {
	return traced{h.Handler.WithAttrs(attrs), h.traces}
}

// WithGroup implements [slog.Handler].
func (h traced) WithGroup(name string) slog.Handler {
	return traced{h.Handler.WithGroup(name), h.traces}
}
