// Package telemetry is what the service tells those who run it: Prometheus metrics
// and OpenTelemetry traces, through the providers that it is given.
//
//	registry := prometheus.NewRegistry()
//	told, err := telemetry.New(telemetry.Config{Metrics: registry, Traces: provider})
//	srv, err := server.New(ctx, server.Config{Telemetry: told, …})
//	http.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
//
// It registers nothing global and has nothing to close; who made the providers shuts
// them down. Labels have few values, however many merchants, mandates and callers
// there are; neither they nor the attributes of spans hold a secret. docs/telemetry.md
// lists them.
package telemetry

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/paywarrant/paywarrant/server/rail"
)

// scope is the name of our tracer.
const scope = "github.com/paywarrant/paywarrant/server"

// Config says to whom it is told.
type Config struct {
	// Metrics is where the metrics are registered. Several servers in one process
	// need a registry each, or prometheus.WrapRegistererWith a label. Nil: nothing is counted.
	Metrics prometheus.Registerer
	// Traces makes the spans. Nil: there are none.
	Traces trace.TracerProvider
}

// Telemetry is what one server tells. Its methods are for the server, and may be
// called on nil, which tells nobody anything.
type Telemetry struct {
	metrics  metrics
	register prometheus.Registerer
	tracer   trace.Tracer
}

// New returns telemetry of one server. An error tells which metric another one has
// registered already.
func New(cfg Config) (*Telemetry, error) {
	if cfg.Traces == nil {
		cfg.Traces = noop.NewTracerProvider()
	}
	t := &Telemetry{metrics: newMetrics(), register: cfg.Metrics, tracer: cfg.Traces.Tracer(scope)}
	if cfg.Metrics == nil {
		return t, nil
	}
	for _, c := range t.metrics.all() {
		if err := cfg.Metrics.Register(c); err != nil {
			return nil, fmt.Errorf("telemetry: Metrics: %w", err)
		}
	}
	return t, nil
}

// Gauges adds figures that are asked for when the metrics are read.
func (t *Telemetry) Gauges(all ...rail.Gauge) error {
	if t == nil || t.register == nil {
		return nil
	}
	for _, g := range all {
		gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: g.Name, Help: g.Help}, g.Value)
		if err := t.register.Register(gauge); err != nil {
			return fmt.Errorf("telemetry: Metrics: %w", err)
		}
	}
	return nil
}
