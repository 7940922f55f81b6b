// Package opentelemetry records the traces of a server with OpenTelemetry.
//
//	srv, err := server.New(ctx, server.Config{Traces: opentelemetry.Traces(provider), …})
//
// The package registers nothing globally and has nothing to close; the caller shuts the
// provider down.
package opentelemetry

import (
	"context"
	"log/slog"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/paywarrant/paywarrant/server/telemetry"
)

// scope is the name of the tracer.
const scope = "github.com/paywarrant/paywarrant/server"

// Traces returns traces whose spans the provider creates.
func Traces(provider trace.TracerProvider) telemetry.Traces { return traces{provider.Tracer(scope)} }

type traces struct{ tracer trace.Tracer }

// Start implements [telemetry.Traces].
func (t traces) Start(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, telemetry.Span) {
	within, s := t.tracer.Start(ctx, name)
	if !s.IsRecording() {
		return ctx, nil
	}
	s.SetAttributes(attributes(attrs)...)
	return within, span{s}
}

// StartRequest implements [telemetry.Traces].
func (t traces) StartRequest(ctx context.Context, name string, header http.Header) (context.Context, telemetry.Span) {
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindServer)}
	theirs := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(header)))
	if theirs.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: theirs}))
	}
	ctx, s := t.tracer.Start(ctx, name, options...)
	if !s.IsRecording() {
		return ctx, nil
	}
	return ctx, span{s}
}

// TraceID implements [telemetry.Traces].
func (traces) TraceID(ctx context.Context) string {
	if s := trace.SpanContextFromContext(ctx); s.IsSampled() {
		return s.TraceID().String()
	}
	return ""
}

type span struct{ span trace.Span }

// SetName implements [telemetry.Span].
func (s span) SetName(name string) { s.span.SetName(name) }

// SetAttributes implements [telemetry.Span].
func (s span) SetAttributes(attrs ...slog.Attr) { s.span.SetAttributes(attributes(attrs)...) }

// Fail implements [telemetry.Span].
func (s span) Fail(problem string) { s.span.SetStatus(codes.Error, problem) }

// End implements [telemetry.Span].
func (s span) End() { s.span.End() }

func attributes(attrs []slog.Attr) []attribute.KeyValue {
	all := make([]attribute.KeyValue, len(attrs))
	for i, a := range attrs {
		key := attribute.Key(a.Key)
		switch a.Value.Kind() {
		case slog.KindInt64:
			all[i] = key.Int64(a.Value.Int64())
		case slog.KindBool:
			all[i] = key.Bool(a.Value.Bool())
		default:
			all[i] = key.String(a.Value.String())
		}
	}
	return all
}
