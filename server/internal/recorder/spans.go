package recorder

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Span is a span of a trace. A nil *Span is valid and records nothing.
type Span struct{ trace.Span }

// Span starts a span as a child of the context's.
func (t *Recorder) Span(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name)
	if !span.IsRecording() {
		return ctx, nil
	}
	s := &Span{span}
	s.Set(attrs...)
	return ctx, s
}

// Set adds attributes with the prefix "paywarrant.".
func (s *Span) Set(attrs ...slog.Attr) {
	if s == nil {
		return
	}
	for _, a := range attrs {
		key := attribute.Key("paywarrant." + a.Key)
		switch a.Value.Kind() {
		case slog.KindInt64:
			s.SetAttributes(key.Int64(a.Value.Int64()))
		case slog.KindBool:
			s.SetAttributes(key.Bool(a.Value.Bool()))
		default:
			s.SetAttributes(key.String(a.Value.String()))
		}
	}
}

// End ends the span. If problem is not empty, the span is marked as failed because of it.
func (s *Span) End(problem string) {
	if s == nil {
		return
	}
	if problem != "" {
		s.SetStatus(codes.Error, problem)
	}
	s.Span.End()
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
	t.metrics.inFlight.Inc()
	method := r.Method
	if !methods[method] {
		method = "other"
	}
	ctx, span := r.Context(), trace.Span(nil)
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer)}
	theirs := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header)))
	if theirs.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: theirs}))
	}
	ctx, span = t.tracer.Start(ctx, method, options...)
	r = r.WithContext(ctx)
	return r, func(status int, took time.Duration) {
		t.metrics.inFlight.Dec()
		_, route, found := strings.Cut(r.Pattern, " ")
		if !found {
			route = r.Pattern
		}
		t.metrics.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
		span.SetName(method + " " + route)
		span.SetAttributes(attribute.String("http.request.method", method), attribute.String("http.route", route),
			attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// Logs returns a logger that adds the trace's id to records.
func (t *Recorder) Logs(to *slog.Logger) *slog.Logger {
	if t == nil {
		return to
	}
	return slog.New(traced{to.Handler()})
}

type traced struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h traced) Handle(ctx context.Context, record slog.Record) error {
	if s := trace.SpanContextFromContext(ctx); s.IsSampled() {
		record.AddAttrs(slog.String("traceId", s.TraceID().String()))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (h traced) WithAttrs(attrs []slog.Attr) slog.Handler { return traced{h.Handler.WithAttrs(attrs)} }

// WithGroup implements [slog.Handler].
func (h traced) WithGroup(name string) slog.Handler { return traced{h.Handler.WithGroup(name)} }
