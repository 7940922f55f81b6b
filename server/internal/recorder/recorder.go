// Package recorder maps what happens in a server to the metrics and spans of package
// telemetry.
//
//	r := recorder.New(metrics, traces)
//	err := r.Register(gauges...)
//	r.Requested("accepted")
//
// All methods can be called on nil, which records nothing.
package recorder

import (
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/telemetry"
)

// Recorder records the metrics and traces of one server.
type Recorder struct {
	register telemetry.Metrics
	metrics  metrics
	gauges   gauges
	traces   telemetry.Traces
}

// New returns a Recorder that creates spans with traces, and after [Recorder.Register]
// records metrics with register. Either may be nil; New returns nil if both are.
func New(register telemetry.Metrics, traces telemetry.Traces) *Recorder {
	if register == nil && traces == nil {
		return nil
	}
	if register == nil {
		register = discard{}
	}
	r := &Recorder{register: register, traces: traces}
	r.metrics, _ = newMetrics(discard{}) // discard returns no error
	return r
}

// Register creates the metrics, and gauges whose values are read when the metrics are
// collected. It is called once, before anything that records runs. The returned error names
// a metric that is already registered.
func (t *Recorder) Register(more ...rail.Gauge) (err error) {
	if t == nil {
		return nil
	}
	if t.metrics, err = newMetrics(t.register); err != nil {
		return err
	}
	for _, g := range append(t.gauges.all(), more...) {
		if err := named(g.Name, t.register.Gauge(namespace+g.Name, g.Help, g.Value)); err != nil {
			return err
		}
	}
	return nil
}

// discard creates metrics that record nothing.
type discard struct{}

// Counter implements [telemetry.Metrics].
func (discard) Counter(string, string, ...string) (telemetry.Record, error) { return drop, nil }

// Histogram implements [telemetry.Metrics].
func (discard) Histogram(string, string, []float64, ...string) (telemetry.Record, error) {
	return drop, nil
}

// Gauge implements [telemetry.Metrics].
func (discard) Gauge(string, string, func() float64) error { return nil }

func drop(float64, ...string) {}
