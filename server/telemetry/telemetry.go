// Package telemetry configures what a server reports about itself: Prometheus metrics and
// OpenTelemetry traces, through the providers that it receives.
//
//	registry := prometheus.NewRegistry()
//	t, err := telemetry.New(telemetry.Config{Metrics: registry, Traces: provider})
//	srv, err := server.New(ctx, server.Config{Telemetry: t, …})
//	http.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// The package registers nothing globally and has nothing to close; the caller shuts its
// providers down. The number of label values does not grow with merchants, mandates or
// callers, and neither labels nor span attributes contain secrets. docs/telemetry.md lists
// them.
package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/paywarrant/paywarrant/server/internal/recorder"
)

// Config selects the metrics registry and the tracer provider.
type Config struct {
	// Metrics registers the metrics. If several servers run in one process, each needs its
	// own registry, or prometheus.WrapRegistererWith a label. Default: no metrics.
	Metrics prometheus.Registerer
	// Traces creates the spans. Default: no traces.
	Traces trace.TracerProvider
}

// Telemetry records the metrics and traces of one server, for server.Config. A nil
// *Telemetry is valid and records nothing.
type Telemetry = recorder.Recorder

// New returns the Telemetry of one server. The returned error names a metric that is already
// registered.
func New(cfg Config) (*Telemetry, error) { return recorder.New(cfg.Metrics, cfg.Traces) }
