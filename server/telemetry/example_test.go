package telemetry_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/paywarrant/paywarrant/server"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/rail/card"
	"github.com/paywarrant/paywarrant/server/store/sqlite"
	"github.com/paywarrant/paywarrant/server/telemetry/opentelemetry"
	"github.com/paywarrant/paywarrant/server/telemetry/prom"
)

// observed returns a service, and a handler that serves its metrics.
func observed(ctx context.Context, store *sqlite.Store, provider trace.TracerProvider) (*server.Server, http.Handler, error) {
	registry := prometheus.NewRegistry()
	srv, err := server.New(ctx, server.Config{
		BaseURL: "https://pay.example", Mode: server.Sandbox, Store: store, Rails: []rail.Rail{card.Sandbox(store)},
		Metrics: prom.Metrics(registry), Traces: opentelemetry.Traces(provider),
	})
	return srv, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), err
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "telemetry-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "pay.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	srv, metrics, err := observed(ctx, store, noop.NewTracerProvider())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer srv.Close()

	srv.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/healthz", http.NoBody))
	scrape := httptest.NewRecorder()
	metrics.ServeHTTP(scrape, httptest.NewRequestWithContext(ctx, http.MethodGet, "/metrics", http.NoBody))
	for line := range strings.Lines(scrape.Body.String()) {
		if strings.HasPrefix(line, "paywarrant_http_request_duration_seconds_count") {
			fmt.Print(line)
		}
	}
	// Output: paywarrant_http_request_duration_seconds_count{method="GET",route="/healthz",status="200"} 1
}
