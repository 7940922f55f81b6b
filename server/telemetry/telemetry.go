// Package telemetry declares what a server needs to report metrics and traces. Two packages
// implement it: prom with Prometheus, opentelemetry with OpenTelemetry. A program compiles
// only the ones that it imports.
//
//	registry := prometheus.NewRegistry()
//	srv, err := server.New(ctx, server.Config{
//		Metrics: prom.Metrics(registry), Traces: opentelemetry.Traces(provider), …
//	})
//	http.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// The number of label values does not grow with merchants, mandates or callers, and neither
// labels nor span attributes contain secrets. docs/reference/telemetry.md lists them.
package telemetry

import (
	"context"
	"log/slog"
	"net/http"
)

// Metrics creates the metrics of one server. [server.New] calls its methods once for each
// metric; they return an error if the name is already in use. Names and units follow
// Prometheus: "paywarrant_charges_total", "paywarrant_http_request_duration_seconds".
type Metrics interface {
	// Counter creates a counter with these labels. The returned function increases it.
	Counter(name, help string, labels ...string) (Record, error)
	// Histogram creates a histogram with these labels and upper bounds of buckets. The
	// returned function records an observation.
	Histogram(name, help string, buckets []float64, labels ...string) (Record, error)
	// Gauge creates a gauge. It calls value, which is safe for concurrent use, whenever
	// the metrics are collected.
	Gauge(name, help string, value func() float64) error
}

// Record records a value for the values of the metric's labels, in the order of the labels.
// It is safe for concurrent use.
type Record func(value float64, labels ...string)

// Traces starts spans. Its methods are safe for concurrent use.
type Traces interface {
	// Start starts a child of the context's span. The returned context contains the new
	// span. The Span is nil if the span is not sampled.
	Start(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, Span)
	// StartRequest starts the span of an incoming request in a new trace: callers do not
	// decide about sampling. The span is linked to the one in the header (traceparent).
	// The Span is nil if the span is not sampled; children of the returned context are
	// then not sampled either.
	StartRequest(ctx context.Context, name string, header http.Header) (context.Context, Span)
	// TraceID returns the ID of the context's trace, or "" if it is not sampled.
	TraceID(ctx context.Context) string
}

// Span is one operation of a trace.
type Span interface {
	// SetName replaces the span's name.
	SetName(name string)
	// SetAttributes adds attributes.
	SetAttributes(attrs ...slog.Attr)
	// Fail marks the span as failed. The problem may be empty.
	Fail(problem string)
	// End ends the span.
	End()
}
