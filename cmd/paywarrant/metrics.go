package main

import (
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/paywarrant/paywarrant/client"
	"github.com/paywarrant/paywarrant/server/telemetry"
	"github.com/paywarrant/paywarrant/server/telemetry/prom"
)

const (
	// metricsPath is the path of the metrics on their listener.
	metricsPath = "/metrics"
	// scrapes is how many read them at once, each for so long.
	scrapes, scrapeFor = 4, 10 * time.Second
)

// meter is the metrics of the process and of the service in it, on a listener.
type meter struct {
	*listener

	metrics telemetry.Metrics
}

// startMeter listens, and answers from now on.
func startMeter(ctx context.Context, addr string) (*meter, error) {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "paywarrant_build_info", Help: "The version of the program.", ConstLabels: prometheus.Labels{"version": client.Version},
	})
	build.Set(1)
	registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	l, err := listen(ctx, "metrics.listen", addr)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes, Timeout: scrapeFor}))
	l.serve(mux, "", "")
	return &meter{l, prom.Metrics(registry)}, nil
}

// url returns the address of the metrics.
func (m *meter) url() string { return m.origin() + metricsPath }
