package opentelemetry_test

import (
	"context"
	"fmt"
	"net/http"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/paywarrant/paywarrant/server/telemetry/opentelemetry"
)

func ExampleTraces() {
	spans := tracetest.NewInMemoryExporter() // an exporter of yours
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	traces := opentelemetry.Traces(provider) // for server.Config

	_, span := traces.StartRequest(context.Background(), "GET /healthz", http.Header{})
	span.End()
	fmt.Println(spans.GetSpans()[0].Name)
	// Output: GET /healthz
}
