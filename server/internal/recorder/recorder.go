// Package recorder records the metrics and traces of a server. Package server/telemetry is
// its public form.
//
//	r, err := recorder.New(registry, provider)
//	r.Requested("accepted")
//
// All methods can be called on nil, which records nothing.
package recorder

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/paywarrant/paywarrant/server/rail"
)

// scope is the name of the tracer.
const scope = "github.com/paywarrant/paywarrant/server"

// Recorder records the metrics and traces of one server.
type Recorder struct {
	metrics  metrics
	register prometheus.Registerer
	tracer   trace.Tracer
}

// New returns a Recorder that registers its metrics with register and creates spans with
// traces. Either may be nil. The returned error names a metric that is already registered.
func New(register prometheus.Registerer, traces trace.TracerProvider) (*Recorder, error) {
	if traces == nil {
		traces = noop.NewTracerProvider()
	}
	r := &Recorder{metrics: newMetrics(), register: register, tracer: traces.Tracer(scope)}
	if register == nil {
		return r, nil
	}
	for _, c := range r.metrics.all() {
		if err := register.Register(c); err != nil {
			return nil, fmt.Errorf("telemetry: Metrics: %w", err)
		}
	}
	return r, nil
}

// Gauges registers gauges whose values are read when the metrics are collected.
func (r *Recorder) Gauges(all ...rail.Gauge) error {
	if r == nil || r.register == nil {
		return nil
	}
	for _, g := range all {
		gauge := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: g.Name, Help: g.Help}, g.Value)
		if err := r.register.Register(gauge); err != nil {
			return fmt.Errorf("telemetry: Metrics: %w", err)
		}
	}
	return nil
}
