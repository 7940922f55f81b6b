// Package prom records the metrics of a server with Prometheus.
//
//	registry := prometheus.NewRegistry()
//	srv, err := server.New(ctx, server.Config{Metrics: prom.Metrics(registry), …})
//
// The package registers nothing globally.
package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/paywarrant/paywarrant/server/telemetry"
)

// Metrics returns metrics that are registered with r. If several servers run in one
// process, each needs its own registry, or a label: prometheus.WrapRegistererWith.
func Metrics(r prometheus.Registerer) telemetry.Metrics { return metrics{r} }

type metrics struct{ register prometheus.Registerer }

// Counter implements [telemetry.Metrics].
func (m metrics) Counter(name, help string, labels ...string) (telemetry.Record, error) {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	if len(labels) == 0 {
		c.WithLabelValues() // a counter without labels is reported before it is increased
	}
	return func(value float64, labels ...string) { c.WithLabelValues(labels...).Add(value) }, m.register.Register(c)
}

// Histogram implements [telemetry.Metrics].
func (m metrics) Histogram(name, help string, buckets []float64, labels ...string) (telemetry.Record, error) {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	if len(labels) == 0 {
		h.WithLabelValues()
	}
	return func(value float64, labels ...string) { h.WithLabelValues(labels...).Observe(value) }, m.register.Register(h)
}

// Gauge implements [telemetry.Metrics].
func (m metrics) Gauge(name, help string, value func() float64) error {
	return m.register.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value))
}
