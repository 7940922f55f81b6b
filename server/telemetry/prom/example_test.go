package prom_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/paywarrant/paywarrant/server/telemetry/prom"
)

// Two services in one process share a registry; a label says which one counted.
func ExampleMetrics() {
	registry := prometheus.NewRegistry()
	for _, region := range []string{"eu", "us"} {
		labeled := prometheus.WrapRegistererWith(prometheus.Labels{"region": region}, registry)
		metrics := prom.Metrics(labeled) // for server.Config
		if _, err := metrics.Counter("paywarrant_ledger_panics_total", "Commands of the ledger that panicked."); err != nil {
			fmt.Println(err)
			return
		}
	}
	found, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range found[0].GetMetric() {
		fmt.Println(found[0].GetName(), m.GetLabel()[0].GetValue(), m.GetCounter().GetValue())
	}
	// Output:
	// paywarrant_ledger_panics_total eu 0
	// paywarrant_ledger_panics_total us 0
}
