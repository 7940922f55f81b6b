package telemetry_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/paywarrant/paywarrant/server/ledger"
	"github.com/paywarrant/paywarrant/server/rail"
	"github.com/paywarrant/paywarrant/server/telemetry"
)

// TestNobodyIsTold: on nil, everything is allowed and nothing happens.
func TestNobodyIsTold(t *testing.T) {
	t.Parallel()
	var none *telemetry.Telemetry
	none.Requested("accepted")
	none.Decided(ledger.Charge{}, time.Now())
	none.Happened("payment.succeeded")
	none.Attempted("delivered", time.Second, time.Second)
	none.Disabled()
	none.Checked(time.Now(), time.Second, 1, 1)
	require.NoError(t, none.Gauges(rail.Gauge{Name: "x"}))
	ctx, span := none.Span(t.Context(), "x", slog.Int("a", 1))
	span.Set(slog.Bool("b", true))
	span.End("problem")
	require.Equal(t, t.Context(), ctx)
	ctx, ended := none.Asking(ctx, rail.Fiat)
	ended(rail.Outcome{}, errors.New("x"))
	require.Equal(t, t.Context(), ctx)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	same, answered := none.Request(r)
	answered(http.StatusOK, time.Second)
	require.Same(t, r, same)
	log := slog.New(slog.DiscardHandler)
	require.Same(t, log, none.Logs(log))
	require.Nil(t, none.Store(nil))
}

// TestOneRegistryIsForOne: the second one is told which metric is there already.
func TestOneRegistryIsForOne(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	first, err := telemetry.New(telemetry.Config{Metrics: registry})
	require.NoError(t, err)
	_, err = telemetry.New(telemetry.Config{Metrics: registry})
	require.ErrorContains(t, err, "telemetry: Metrics: ")
	_, err = telemetry.New(telemetry.Config{Metrics: prometheus.WrapRegistererWith(prometheus.Labels{"service": "other"}, registry)})
	require.Error(t, err, "one has the label and the other has not")
	figure := rail.Gauge{Name: "figure", Help: "A figure.", Value: func() float64 { return 1 }}
	require.NoError(t, first.Gauges(figure))
	require.ErrorContains(t, first.Gauges(figure), "telemetry: Metrics: ")

	both := prometheus.NewRegistry()
	for _, name := range []string{"one", "other"} {
		_, err := telemetry.New(telemetry.Config{Metrics: prometheus.WrapRegistererWith(prometheus.Labels{"service": name}, both)})
		require.NoError(t, err)
	}
}
